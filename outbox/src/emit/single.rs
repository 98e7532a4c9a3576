//! Emitting one event.

use std::borrow::Cow;
use std::pin::Pin;

use sqlx::PgConnection;

use super::emitter::Emitter;
use super::error::EmitError;
use super::request::{Options, fallback_max_retries, new_ids, payload};
use super::setters;
use crate::event::OutboxEvent;
use crate::ids::EventId;
use crate::registry::linked_for;

/// The statement that writes one event.
pub(crate) const EMIT: &str = include_str!("../sql/emit.sql");

/// An event on its way into the outbox; made by [`outbox::emit`](crate::emit), done when awaited.
///
/// # Errors
///
/// Awaiting it fails with an [`EmitError`] that names the field at fault. What is found before any
/// SQL leaves the transaction usable.
///
/// # Cancel safety
///
/// Not cancel safe: when the future is dropped midway, the event may or may not be written. Roll
/// the transaction back.
#[must_use = "an event is emitted when this is awaited"]
pub struct Emit<'c> {
    emitter: Emitter,
    connection: &'c mut PgConnection,
    event: Result<Ready, EmitError>,
    event_id: Option<EventId>,
    options: Options,
}

/// An event as the statement takes it; already checked.
struct Ready {
    event_type: Cow<'static, str>,
    json: String,
    fallback_max_retries: i32,
}

impl Ready {
    fn of<E: OutboxEvent>(event: &E, emitter: &Emitter) -> Result<Self, EmitError> {
        let settings = emitter.settings();
        let event_type = event.event_type();
        Ok(Self {
            json: payload(event, settings.payload_limit)?,
            event_type: if event_type == E::EVENT_TYPE {
                Cow::Borrowed(E::EVENT_TYPE)
            } else {
                Cow::Owned(event_type.to_owned())
            },
            fallback_max_retries: fallback_max_retries::<E>(settings.max_retries)?,
        })
    }
}

impl<'c> Emit<'c> {
    pub(super) fn new<E: OutboxEvent>(
        emitter: Emitter,
        connection: &'c mut PgConnection,
        event: &E,
    ) -> Self {
        Self {
            event: Ready::of(event, &emitter),
            emitter,
            connection,
            event_id: None,
            options: Options::default(),
        }
    }

    setters!("event");

    /// The event's id, for who needs to know it before or gets it from elsewhere. Default a new
    /// UUID of version 7. The outbox does not refuse an id that it has already.
    pub fn event_id(mut self, id: impl Into<EventId>) -> Self {
        self.event_id = Some(id.into());
        self
    }

    async fn run(self) -> Result<EventId, EmitError> {
        self.options.check_transaction(self.connection)?;
        let event = self.event?;
        let settings = self.emitter.settings();
        let columns = self.options.columns(settings.tenant_id.as_deref())?;
        let linked = linked_for(&event.event_type);
        let (record_id, event_id) = new_ids();
        let event_id = self.event_id.unwrap_or_else(|| event_id.into());
        sqlx::query(EMIT)
            .bind(record_id)
            .bind(event_id)
            .bind(&*event.event_type)
            .bind(&event.json)
            .bind(&columns.headers)
            .bind(&linked.handlers)
            .bind(&linked.max_retries)
            .bind(&linked.aliases)
            .bind(&linked.alias_of)
            .bind(&linked.candidates)
            .bind(columns.max_retries)
            .bind(event.fallback_max_retries)
            .bind(columns.delay_ms)
            .bind(columns.occurred_at)
            .bind(columns.tenant_id)
            .bind(columns.aggregate_type)
            .bind(columns.aggregate_id)
            .bind(columns.partition_key)
            .bind(columns.correlation_id)
            .bind(columns.causation_id)
            .bind(&settings.channels)
            .execute(self.connection)
            .await
            .map_err(EmitError::database)?;
        Ok(event_id)
    }
}

impl<'c> IntoFuture for Emit<'c> {
    type Output = Result<EventId, EmitError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl std::fmt::Debug for Emit<'_> {
    /// Names the type only: payloads don't reach logs by accident.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emit")
            .field(
                "event_type",
                &self.event.as_ref().map(|event| &event.event_type),
            )
            .field("event_id", &self.event_id)
            .finish_non_exhaustive()
    }
}
