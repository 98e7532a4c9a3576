//! What a handler can know about the attempt that it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::ids::{EventId, RecordId};
use crate::record::Claimed;

/// The attempt that a handler is running: ids, number, times, metadata, and the signal to stop.
///
/// ```
/// # use outbox::{Context, OutboxEvent};
/// # #[derive(OutboxEvent)]
/// # struct OrderCreated { order_id: u64 }
/// #[outbox::handler(event = "order.created")]
/// async fn send_confirmation(event: OrderCreated, context: Context) {
///     println!(
///         "order {}: attempt {} of {}",
///         event.order_id,
///         context.attempt(),
///         context.max_retries(),
///     );
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    record: Arc<Claimed>,
    headers: Arc<BTreeMap<String, String>>,
    signals: Signals,
}

/// Why a handler should stop.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    /// The runtime shuts down.
    pub(crate) stopping: CancellationToken,
    /// The claim was lost.
    pub(crate) lost: CancellationToken,
}

impl Context {
    pub(crate) fn new(record: Arc<Claimed>, signals: Signals) -> Self {
        let headers = Arc::new(record.headers());
        Self {
            record,
            headers,
            signals,
        }
    }

    /// The row that is being delivered.
    #[must_use]
    pub fn record_id(&self) -> RecordId {
        self.record.id
    }

    /// The event, the same for all its handlers and all attempts.
    #[must_use]
    pub fn event_id(&self) -> EventId {
        self.record.event_id
    }

    /// The event's type name, such as `order.created`.
    #[must_use]
    pub fn event_type(&self) -> &str {
        &self.record.event_type
    }

    /// The handler's name, as it stands on the record.
    #[must_use]
    pub fn handler(&self) -> &str {
        &self.record.handler
    }

    /// Which attempt this is, from 1. Counts the failed attempts before it, for the record's life.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.record.retry_count.saturating_add(1)
    }

    /// How many attempts the record gets in all, as fixed when it was emitted.
    #[must_use]
    pub fn max_retries(&self) -> i32 {
        self.record.max_retries
    }

    /// Whether the record is FAILED if this attempt fails.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.attempt() >= self.max_retries()
    }

    /// When the row was written, by PostgreSQL's clock.
    #[must_use]
    pub fn created_at(&self) -> DateTime<Utc> {
        self.record.created_at
    }

    /// When the event happened: what the emitter said, else when the row was written.
    #[must_use]
    pub fn occurred_at(&self) -> DateTime<Utc> {
        self.record.occurred_at
    }

    /// The tenant that the event belongs to, if it does to one.
    #[must_use]
    pub fn tenant_id(&self) -> Option<&str> {
        self.record.tenant_id.as_deref()
    }

    /// The header `key`, if the emitter set it.
    #[must_use]
    pub fn header(&self, key: &str) -> Option<&str> {
        self.headers.get(key).map(String::as_str)
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }

    /// What ties this event to the request or process that it belongs to.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.record.correlation_id.as_deref()
    }

    /// What caused this event: by convention another event's id.
    #[must_use]
    pub fn causation_id(&self) -> Option<&str> {
        self.record.causation_id.as_deref()
    }

    /// Returns when the handler should stop: the runtime shuts down, or the claim was lost and the
    /// result will not count. The handler's future is dropped a grace period later
    /// (`shutdown_timeout`, or `cancel_grace` when the claim was lost).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the signal, once given, stays.
    pub async fn cancelled(&self) {
        tokio::select! {
            () = self.signals.lost.cancelled() => {}
            () = self.signals.stopping.cancelled() => {}
        }
    }
}
