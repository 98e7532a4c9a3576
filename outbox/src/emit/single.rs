//! Emitting one event.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::PgArguments;
use sqlx::{PgConnection, Postgres, Row as _};
use uuid::Uuid;

use super::emitter::Emitter;
use super::error::EmitError;
use super::request::{Columns, Options, fallback_max_retries, new_ids, payload};
use super::setters;
use crate::event::OutboxEvent;
use crate::ids::EventId;
use crate::registry::{Linked, linked_for};

/// The statement that writes one event while no handler has a former name.
pub(crate) const EMIT: &str = include_str!("../sql/emit.sql");
/// The statement that writes one event whatever names handlers had.
pub(crate) const EMIT_RENAMED: &str = include_str!("../sql/emit_renamed.sql");

/// How many more events are written by [`EMIT_RENAMED`] at once, because [`EMIT`] met former names
/// a short while ago. A hint only: each statement is right by itself, or writes nothing.
static RENAMED: AtomicU32 = AtomicU32::new(0);

/// After so many events it is asked again whether there are former names: one round trip more.
const ASK_AGAIN_AFTER: u32 = 1_000;

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
        let row = Row {
            record_id,
            event_id,
            event: &event,
            columns: &columns,
            linked: &linked,
            channels: &settings.channels,
        };
        if !(linked.aliases.is_empty() && take_hint()) {
            row.write_renamed(self.connection).await
        } else if row.write(self.connection).await? {
            RENAMED.store(ASK_AGAIN_AFTER, Ordering::Relaxed);
            row.write_renamed(self.connection).await
        } else {
            Ok(())
        }?;
        Ok(event_id)
    }
}

/// Whether [`EMIT`] is worth trying.
fn take_hint() -> bool {
    let left = RENAMED.load(Ordering::Relaxed);
    if left > 0 {
        // Two at once may count as one, which only asks a little later.
        RENAMED.store(left - 1, Ordering::Relaxed);
    }
    left == 0
}

/// All that stands in an event's rows, and what decides how many there are.
struct Row<'e> {
    record_id: Uuid,
    event_id: EventId,
    event: &'e Ready,
    columns: &'e Columns<'e>,
    linked: &'e Linked,
    channels: &'e [String],
}

type Statement<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

impl Row<'_> {
    /// Whether there are former names; then nothing was written.
    async fn write(&self, connection: &mut PgConnection) -> Result<bool, EmitError> {
        let statement = self.bind_event(sqlx::query(EMIT));
        let row = self
            .bind_columns(statement)
            .fetch_one(connection)
            .await
            .map_err(EmitError::database)?;
        row.try_get("renamed").map_err(EmitError::database)
    }

    async fn write_renamed(&self, connection: &mut PgConnection) -> Result<(), EmitError> {
        let statement = self
            .bind_event(sqlx::query(EMIT_RENAMED))
            .bind(&self.linked.aliases)
            .bind(&self.linked.alias_of);
        self.bind_columns(statement)
            .execute(connection)
            .await
            .map_err(EmitError::database)?;
        Ok(())
    }

    fn bind_event<'q>(&self, statement: Statement<'q>) -> Statement<'q> {
        statement
            .bind(self.record_id)
            .bind(self.event_id)
            .bind(&*self.event.event_type)
            .bind(&self.event.json)
            .bind(&self.columns.headers)
            .bind(&self.linked.handlers)
            .bind(&self.linked.max_retries)
    }

    fn bind_columns<'q>(&self, statement: Statement<'q>) -> Statement<'q> {
        statement
            .bind(&self.linked.candidates)
            .bind(self.columns.max_retries)
            .bind(self.event.fallback_max_retries)
            .bind(self.columns.delay_ms)
            .bind(self.columns.occurred_at)
            .bind(self.columns.tenant_id)
            .bind(self.columns.aggregate_type)
            .bind(self.columns.aggregate_id)
            .bind(self.columns.partition_key)
            .bind(self.columns.correlation_id)
            .bind(self.columns.causation_id)
            .bind(self.channels)
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
