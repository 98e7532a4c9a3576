//! Emitters: settings that emits share.

use std::sync::Arc;

use super::error::EmitError;
use super::limits::{DEFAULT_PAYLOAD_LIMIT, MAX_PAYLOAD_LIMIT};
use super::request::{check_max_retries, check_tenant};
use crate::channel::{DEFAULT_CHANNEL, check_channel};

/// Emits with settings of its own, where [`outbox::emit`](crate::emit) uses the process's defaults.
///
/// Cheap to clone. It holds no connection.
///
/// ```
/// use outbox::{Emitter, OutboxEvent};
///
/// # #[derive(OutboxEvent)]
/// # struct OrderCreated { order_id: u64 }
/// async fn order(pool: &outbox::sqlx::PgPool, emitter: &Emitter) -> Result<(), Box<dyn std::error::Error>> {
///     let mut tx = pool.begin().await?;
///     emitter.emit(&mut tx, &OrderCreated { order_id: 7 }).await?;
///     tx.commit().await?;
///     Ok(())
/// }
///
/// let emitter = Emitter::builder()
///     .max_retries(8)
///     .payload_limit(64 * 1024)
///     .build()?;
/// # let _ = emitter;
/// # Ok::<(), outbox::EmitError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Emitter(Arc<Settings>);

/// What an emitter says where an emit call does not.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) max_retries: Option<i32>,
    pub(super) payload_limit: usize,
    pub(super) tenant_id: Option<String>,
    /// The channels to notify; none: no notification.
    pub(super) channels: Vec<String>,
}

impl Emitter {
    /// Begins an emitter with the defaults: 5 attempts, payloads of up to 1 MiB, notifications on
    /// the channel `outbox_events`.
    pub fn builder() -> EmitterBuilder {
        EmitterBuilder {
            max_retries: None,
            payload_limit: DEFAULT_PAYLOAD_LIMIT,
            tenant_id: None,
            notify: true,
            channel: None,
        }
    }

    /// The defaults, but for what running runtimes set; already checked by them.
    pub(super) fn of_runtimes(max_retries: Option<i32>, mut channels: Vec<String>) -> Self {
        if channels.is_empty() {
            channels.push(DEFAULT_CHANNEL.to_owned());
        }
        Self(Arc::new(Settings {
            max_retries,
            payload_limit: DEFAULT_PAYLOAD_LIMIT,
            tenant_id: None,
            channels,
        }))
    }

    /// The emitter of one runtime.
    pub(crate) fn of_runtime(max_retries: Option<i32>, channel: String) -> Self {
        Self::of_runtimes(max_retries, vec![channel])
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0
    }

    /// The channels that it notifies.
    pub(crate) fn channels(&self) -> &[String] {
        &self.0.channels
    }
}

/// Sets up an [`Emitter`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `.build()`"]
pub struct EmitterBuilder {
    max_retries: Option<i32>,
    payload_limit: usize,
    tenant_id: Option<String>,
    notify: bool,
    channel: Option<String>,
}

impl EmitterBuilder {
    /// Attempts in all for records whose emit call, handler, subscription and event type don't say.
    /// Default 5; at least 1.
    pub fn max_retries(mut self, attempts: i32) -> Self {
        self.max_retries = Some(attempts);
        self
    }

    /// The largest payload as JSON text, in bytes. Default 1 MiB; 1 byte to 128 MiB.
    pub fn payload_limit(mut self, bytes: usize) -> Self {
        self.payload_limit = bytes;
        self
    }

    /// The tenant of events whose emit call names none. Default none; 1 to 255 characters without
    /// white space at either end.
    #[allow(clippy::needless_pass_by_value, reason = "as the setters of an emit")]
    pub fn tenant(mut self, tenant_id: impl ToString) -> Self {
        self.tenant_id = Some(tenant_id.to_string());
        self
    }

    /// Whether committing wakes the pollers at once. Default true. Without, they find the event
    /// within their poll interval; a notification costs a small transaction about a quarter and a
    /// lock that all notifying transactions share.
    pub fn notify(mut self, notify: bool) -> Self {
        self.notify = notify;
        self
    }

    /// The channel to notify, as `start(pool).channel(…)` has it on the consuming side. Default
    /// `outbox_events`; `[a-z_][a-z0-9_$]*` of at most 63 bytes.
    pub fn channel(mut self, name: impl Into<String>) -> Self {
        self.channel = Some(name.into());
        self
    }

    /// The emitter.
    ///
    /// # Errors
    ///
    /// When a setting is out of its range; the error names it.
    pub fn build(self) -> Result<Emitter, EmitError> {
        let limit = self.payload_limit;
        if !(1..=MAX_PAYLOAD_LIMIT).contains(&limit) {
            return Err(EmitError::InvalidPayloadLimit { limit });
        }
        if let Some(tenant_id) = &self.tenant_id {
            check_tenant(tenant_id)?;
        }
        let channel = self.channel.unwrap_or_else(|| DEFAULT_CHANNEL.to_owned());
        check_channel(&channel).map_err(EmitError::InvalidChannel)?;
        Ok(Emitter(Arc::new(Settings {
            max_retries: self.max_retries.map(check_max_retries).transpose()?,
            payload_limit: limit,
            tenant_id: self.tenant_id,
            channels: if self.notify {
                vec![channel]
            } else {
                Vec::new()
            },
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        for attempts in [0, -1, i32::MIN] {
            let error = Emitter::builder().max_retries(attempts).build().err();
            assert!(
                matches!(error, Some(EmitError::InvalidMaxRetries(got)) if got == attempts),
                "{error:?}"
            );
        }
        for limit in [0, MAX_PAYLOAD_LIMIT + 1, usize::MAX] {
            let error = Emitter::builder().payload_limit(limit).build().err();
            assert!(
                matches!(error, Some(EmitError::InvalidPayloadLimit { limit: got }) if got == limit),
                "{error:?}"
            );
        }
        for channel in ["", "Jobs", "a b", "a\"b", &"x".repeat(64)] {
            let error = Emitter::builder().channel(channel).build().err();
            assert!(
                matches!(error, Some(EmitError::InvalidChannel(_))),
                "{channel}: {error:?}"
            );
        }
        let error = Emitter::builder().tenant(" acme").build().err();
        assert!(
            matches!(
                error,
                Some(EmitError::InvalidField {
                    field: "tenant_id",
                    ..
                })
            ),
            "{error:?}"
        );
    }

    #[test]
    fn an_emitter_without_notifications_has_no_channel() {
        let quiet = Emitter::builder().notify(false).channel("jobs").build();
        assert!(quiet.is_ok_and(|emitter| emitter.channels().is_empty()));
        let loud = Emitter::builder().channel("jobs").build();
        assert!(loud.is_ok_and(|emitter| emitter.channels() == ["jobs"]));
    }
}
