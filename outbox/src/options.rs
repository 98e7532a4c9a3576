//! What a runtime is started with, and the check of it.

use std::fmt::Display;
use std::time::Duration;

use crate::retry::{Backoff, MAX_DURATION, Policy, Retry};

const MS: Duration = Duration::from_millis(1);

/// How long a claim holds, and how it is kept.
///
/// ```
/// use std::time::Duration;
/// use outbox::Lease;
///
/// let lease = Lease::default()
///     .duration(Duration::from_secs(60))
///     .heartbeat_interval(Duration::from_secs(10))
///     .heartbeat_failure_tolerance(2);
/// # let _ = lease;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "settings do nothing until `start(pool).lease(…)` takes them"]
pub struct Lease {
    pub(crate) duration: Duration,
    heartbeat_interval: Option<Duration>,
    pub(crate) heartbeat_failure_tolerance: u32,
}

impl Default for Lease {
    fn default() -> Self {
        Self {
            duration: Duration::from_mins(5),
            heartbeat_interval: None,
            heartbeat_failure_tolerance: 1,
        }
    }
}

impl Lease {
    /// How long a claim holds without being renewed; then any runtime may recover the record.
    /// Default 300 s; 10 ms to [`MAX_DURATION`].
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// How often claims are renewed. Default a fifth of the duration; positive and less than half
    /// the duration.
    pub fn heartbeat_interval(mut self, interval: Duration) -> Self {
        self.heartbeat_interval = Some(interval);
        self
    }

    /// How many renewals in a row may fail; with the next one the runtime gives its claims up.
    /// Default 1; `interval × (tolerance + 1)` must be less than the duration.
    pub fn heartbeat_failure_tolerance(mut self, failures: u32) -> Self {
        self.heartbeat_failure_tolerance = failures;
        self
    }

    /// The former name of [`duration`](Self::duration).
    #[deprecated(note = "use `duration`")]
    pub fn stuck_threshold(self, duration: Duration) -> Self {
        self.duration(duration)
    }

    pub(crate) fn interval(&self) -> Duration {
        self.heartbeat_interval.unwrap_or(self.duration / 5)
    }
}

/// An option out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `{option}` to be {expected}, got {value}")]
pub struct InvalidOption {
    option: &'static str,
    value: String,
    expected: String,
}

impl InvalidOption {
    /// The option's name, such as `batch_size`.
    #[must_use]
    pub fn option(&self) -> &'static str {
        self.option
    }

    /// The value that was given.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What is allowed.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

/// All options with their defaults.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) poll_interval: Duration,
    pub(crate) batch_size: usize,
    pub(crate) concurrency: usize,
    pub(crate) retry: Retry,
    pub(crate) lease: Lease,
    pub(crate) max_recoveries: Option<i32>,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) cancel_grace: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) listen: bool,
    pub(crate) channel: String,
    pub(crate) log_errors: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            poll_interval: Duration::from_secs(1),
            batch_size: 500,
            concurrency: 64,
            retry: Retry::default(),
            lease: Lease::default(),
            max_recoveries: Some(10),
            shutdown_timeout: Duration::from_secs(30),
            cancel_grace: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(30),
            listen: true,
            channel: "outbox_events".to_owned(),
            log_errors: false,
        }
    }
}

impl Options {
    /// Every option that is out of its range.
    pub(crate) fn faults(&self) -> Vec<InvalidOption> {
        let mut faults = Faults(Vec::new());
        faults.range(
            "poll_interval",
            Ms(self.poll_interval),
            Ms(MS),
            Ms(MAX_DURATION),
        );
        faults.range("batch_size", self.batch_size, 1, 10_000);
        faults.range("concurrency", self.concurrency, 1, 10_000);
        if let Some(max_retries) = self.retry.max_retries {
            faults.range("retry.max_retries", max_retries, 1, i32::MAX);
        }
        if !(0.0..=1.0).contains(&self.retry.jitter) {
            faults.push("retry.jitter", &self.retry.jitter, "0 to 1".to_owned());
        }
        let policy = self.retry.policy.complete(crate::retry::Partial::default());
        faults.policy(policy);
        if let Some(max_recoveries) = self.max_recoveries {
            faults.range("max_recoveries", max_recoveries, 1, i32::MAX);
        }
        for (option, value) in [
            ("shutdown_timeout", self.shutdown_timeout),
            ("cancel_grace", self.cancel_grace),
            ("connect_timeout", self.connect_timeout),
        ] {
            faults.range(option, Ms(value), Ms(Duration::ZERO), Ms(MAX_DURATION));
        }
        faults.lease(&self.lease);
        faults.0
    }
}

/// What is wrong with a handler's policy once the runtime's settings have filled its gaps.
pub(crate) fn policy_faults(policy: Policy) -> Vec<InvalidOption> {
    let mut faults = Faults(Vec::new());
    faults.policy(policy);
    faults.0
}

struct Faults(Vec<InvalidOption>);

impl Faults {
    fn push(&mut self, option: &'static str, value: &dyn Display, expected: String) {
        self.0.push(InvalidOption {
            option,
            value: value.to_string(),
            expected,
        });
    }

    fn range<T: PartialOrd + Display + Copy>(
        &mut self,
        option: &'static str,
        value: T,
        min: T,
        max: T,
    ) {
        if value < min {
            self.push(option, &value, format!("at least {min}"));
        } else if value > max {
            self.push(option, &value, format!("at most {max}"));
        }
    }

    fn policy(&mut self, policy: Policy) {
        let (initial, max) = (Ms(policy.initial_delay), Ms(policy.max_delay));
        self.range(
            "retry.initial_delay",
            initial,
            Ms(Duration::ZERO),
            Ms(MAX_DURATION),
        );
        self.range("retry.max_delay", max, Ms(Duration::ZERO), Ms(MAX_DURATION));
        if policy.backoff == Backoff::Exponential && initial > max {
            self.push(
                "retry.initial_delay",
                &initial,
                format!("at most `retry.max_delay`, {max}"),
            );
        }
    }

    fn lease(&mut self, lease: &Lease) {
        let duration = lease.duration;
        let interval = lease.interval();
        let shortest = Duration::from_millis(10);
        self.range(
            "lease.duration",
            Ms(duration),
            Ms(shortest),
            Ms(MAX_DURATION),
        );
        if interval.is_zero() {
            self.push(
                "lease.heartbeat_interval",
                &Ms(interval),
                "positive".to_owned(),
            );
        }
        if interval >= duration / 2 {
            self.push(
                "lease.heartbeat_interval",
                &Ms(interval),
                format!("less than half of `lease.duration`, {}", Ms(duration / 2)),
            );
        } else if interval.as_nanos() * (u128::from(lease.heartbeat_failure_tolerance) + 1)
            >= duration.as_nanos()
        {
            self.push(
                "lease.heartbeat_failure_tolerance",
                &lease.heartbeat_failure_tolerance,
                format!(
                    "such that `heartbeat_interval` × (tolerance + 1) is less than `lease.duration`: \
                     with an interval of {} and a duration of {}, at most {}",
                    Ms(interval),
                    Ms(duration),
                    ((duration.as_nanos() - 1) / interval.as_nanos().max(1)).saturating_sub(1),
                ),
            );
        }
    }
}

/// A duration, printed in the unit that the options' documentation uses.
#[derive(PartialEq, PartialOrd, Clone, Copy)]
struct Ms(Duration);

impl Display for Ms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos.is_multiple_of(1_000_000) {
            write!(f, "{} ms", nanos / 1_000_000)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Options::default().faults(), []);
    }

    #[test]
    fn every_fault_is_reported_with_value_and_range() {
        let options = Options {
            poll_interval: Duration::ZERO,
            batch_size: 10_001,
            concurrency: 0,
            retry: Retry::default()
                .max_retries(0)
                .jitter(f64::NAN)
                .initial_delay(Duration::MAX)
                .max_delay(Duration::from_secs(1)),
            lease: Lease::default().heartbeat_interval(Duration::from_secs(150)),
            max_recoveries: Some(-1),
            shutdown_timeout: Duration::MAX,
            ..Options::default()
        };
        let faults: Vec<String> = options.faults().iter().map(ToString::to_string).collect();
        for expected in [
            "expected `poll_interval` to be at least 1 ms, got 0 ms",
            "expected `batch_size` to be at most 10000, got 10001",
            "expected `concurrency` to be at least 1, got 0",
            "expected `retry.max_retries` to be at least 1, got 0",
            "expected `retry.jitter` to be 0 to 1, got NaN",
            "expected `max_recoveries` to be at least 1, got -1",
            "expected `lease.heartbeat_interval` to be less than half of `lease.duration`, 150000 ms, got 150000 ms",
        ] {
            assert!(
                faults.iter().any(|fault| fault == expected),
                "{expected}\n{faults:#?}"
            );
        }
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains("`shutdown_timeout` to be at most"))
        );
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains("`retry.initial_delay` to be at most"))
        );
    }

    #[test]
    fn tolerance_is_bounded_by_the_duration() {
        let lease = |tolerance| Options {
            lease: Lease::default()
                .duration(Duration::from_secs(10))
                .heartbeat_interval(Duration::from_secs(2))
                .heartbeat_failure_tolerance(tolerance),
            ..Options::default()
        };
        assert_eq!(lease(3).faults(), []);
        let faults = lease(4).faults();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].option(), "lease.heartbeat_failure_tolerance");
        assert!(faults[0].expected().ends_with("at most 3"), "{}", faults[0]);
    }
}
