//! When a failed attempt is tried again.

use std::time::Duration;

/// The largest duration that an option takes: 2,147,483,647 ms, about 24.8 days.
pub const MAX_DURATION: Duration = Duration::from_millis(i32::MAX as u64);

/// The attempts that a record gets when nobody says otherwise.
pub(crate) const DEFAULT_MAX_RETRIES: i32 = 5;

/// How the delay grows from one attempt to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Backoff {
    /// The initial delay before every attempt.
    Fixed,
    /// The initial delay, doubled with every failed attempt, up to the maximum. The default.
    #[default]
    Exponential,
}

impl std::fmt::Display for Backoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
        })
    }
}

/// The retry settings of a runtime, for handlers that don't set their own.
///
/// ```
/// use std::time::Duration;
/// use outbox::{Backoff, Retry};
///
/// let retry = Retry::default()
///     .max_retries(8)
///     .backoff(Backoff::Exponential)
///     .initial_delay(Duration::from_millis(250))
///     .max_delay(Duration::from_secs(60))
///     .jitter(0.1);
/// # let _ = retry;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use = "settings do nothing until `start(pool).retry(…)` takes them"]
pub struct Retry {
    pub(crate) max_retries: Option<i32>,
    pub(crate) policy: Partial,
    pub(crate) jitter: f64,
}

impl Retry {
    /// Attempts in all before a record is FAILED, for records emitted by this process without a
    /// limit from elsewhere. Default 5; at least 1.
    pub fn max_retries(mut self, attempts: i32) -> Self {
        self.max_retries = Some(attempts);
        self
    }

    /// How the delay grows. Default [`Backoff::Exponential`].
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.policy.backoff = Some(backoff);
        self
    }

    /// The delay after the first failed attempt. Default 1 s; at most [`MAX_DURATION`]. Kept to
    /// the millisecond, rounded up.
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.policy.initial_delay = Some(delay);
        self
    }

    /// The cap of an exponential delay. Default 24 h; at most [`MAX_DURATION`], and no less than
    /// the initial delay. Kept to the millisecond, rounded up.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.policy.max_delay = Some(delay);
        self
    }

    /// The part of a delay that is left to chance, 0 to 1: with 0.2 a delay of 10 s becomes one of
    /// 8 to 10 s. Default 0. A delay never exceeds what it would be without jitter.
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = part;
        self
    }
}

/// Some settings of a policy; what is missing comes from a wider scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Partial {
    pub(crate) backoff: Option<Backoff>,
    pub(crate) initial_delay: Option<Duration>,
    pub(crate) max_delay: Option<Duration>,
}

impl Partial {
    /// These settings, completed from `wider` and then from the defaults.
    pub(crate) fn complete(self, wider: Partial) -> Policy {
        Policy {
            backoff: self.backoff.or(wider.backoff).unwrap_or_default(),
            initial_delay: self
                .initial_delay
                .or(wider.initial_delay)
                .unwrap_or(Duration::from_secs(1)),
            max_delay: self
                .max_delay
                .or(wider.max_delay)
                .unwrap_or(Duration::from_hours(24)),
        }
    }
}

/// A whole retry policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) backoff: Backoff,
    pub(crate) initial_delay: Duration,
    pub(crate) max_delay: Duration,
}

impl Policy {
    /// The delay in ms before the attempt that follows `failed` failed ones, `failed` ≥ 1.
    /// Monotone in `failed`; saturates instead of overflowing.
    pub(crate) fn delay_ms(&self, failed: i32) -> i64 {
        let initial = ceil_ms(self.initial_delay);
        match self.backoff {
            Backoff::Fixed => initial,
            Backoff::Exponential => {
                let doublings = u32::try_from(failed.saturating_sub(1)).unwrap_or(0);
                // 2^31 times 1 ms is beyond every cap, so more doublings change nothing.
                let factor = 1_i64 << doublings.min(31);
                initial.saturating_mul(factor).min(ceil_ms(self.max_delay))
            }
        }
    }

    /// The delay with `jitter` (0 to 1) taken off by `chance` (0 to 1).
    pub(crate) fn jittered_ms(&self, failed: i32, jitter: f64, chance: f64) -> i64 {
        let delay = self.delay_ms(failed);
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // below 2^31
        let off = (delay as f64 * jitter * chance) as i64;
        delay - off.clamp(0, delay)
    }
}

/// A duration in whole milliseconds, rounded up, saturating.
pub(crate) fn ceil_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(backoff: Backoff, initial: Duration, max: Duration) -> Policy {
        Policy {
            backoff,
            initial_delay: initial,
            max_delay: max,
        }
    }

    #[test]
    fn the_reference_tables_hold() {
        let exponential = Partial::default().complete(Partial::default());
        assert_eq!(
            [1, 2, 3, 4].map(|n| exponential.delay_ms(n)),
            [1_000, 2_000, 4_000, 8_000]
        );
        let fixed = policy(Backoff::Fixed, Duration::from_secs(1), MAX_DURATION);
        assert_eq!([1, 2, 3, 1_000].map(|n| fixed.delay_ms(n)), [1_000; 4]);
    }

    /// C1: no attempt number and no bound overflows; delays grow, never beyond the cap.
    #[test]
    fn c1_delays_are_monotone_and_capped_at_every_attempt() {
        let day = Duration::from_hours(24);
        for initial in [Duration::ZERO, Duration::from_millis(1), day, MAX_DURATION] {
            for max in [initial, day.max(initial), MAX_DURATION] {
                let policy = policy(Backoff::Exponential, initial, max);
                let mut last = 0;
                for failed in [1, 2, 31, 32, 33, 63, 64, 65, 1024, i32::MAX] {
                    let delay = policy.delay_ms(failed);
                    assert!(
                        delay >= last && delay <= ceil_ms(max),
                        "{policy:?} at {failed}"
                    );
                    for chance in [0.0, 0.5, 1.0] {
                        let jittered = policy.jittered_ms(failed, 1.0, chance);
                        assert!((0..=delay).contains(&jittered), "{policy:?} at {failed}");
                    }
                    last = delay;
                }
                if initial > Duration::ZERO {
                    assert_eq!(last, ceil_ms(max));
                }
            }
        }
    }

    #[test]
    fn d5_a_part_of_a_millisecond_counts_as_one() {
        assert_eq!(ceil_ms(Duration::from_nanos(1)), 1);
        assert_eq!(ceil_ms(Duration::new(1, 1)), 1_001);
        assert_eq!(ceil_ms(Duration::MAX), i64::MAX);
    }
}
