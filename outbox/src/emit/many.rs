//! Emitting many events.

use std::collections::HashMap;
use std::pin::Pin;

use sqlx::PgConnection;
use uuid::Uuid;

use super::emitter::Emitter;
use super::error::EmitError;
use super::request::{Columns, Options, fallback_max_retries, new_ids, payload};
use super::setters;
use crate::event::OutboxEvent;
use crate::ids::EventId;
use crate::registry::linked_for;

/// The statement that writes up to [`MAX_EVENTS`] events.
pub(crate) const EMIT_MANY: &str = include_str!("../sql/emit_many.sql");

/// The most events of one statement.
const MAX_EVENTS: usize = 1_000;

/// The most JSON text of one statement, in bytes; a single larger payload goes alone.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The most JSON text that a batch keeps from its validation to its writing. What is beyond is
/// made again when its turn comes, so that a batch needs no memory for all of its payloads.
const MAX_KEPT: usize = 2 * MAX_BYTES;

/// Events on their way into the outbox; made by [`outbox::emit_many`](crate::emit_many), done when
/// awaited. The ids come in the order of the events.
///
/// # Errors
///
/// Awaiting it fails with an [`EmitError`]; an event at fault is named by its index
/// ([`EmitError::InBatch`]), and none of the batch was written.
///
/// # Cancel safety
///
/// Not cancel safe: when the future is dropped midway, some of the events may be written. Roll the
/// transaction back.
#[must_use = "events are emitted when this is awaited"]
pub struct EmitMany<'c> {
    emitter: Emitter,
    connection: &'c mut PgConnection,
    batch: Result<Batch<'c>, EmitError>,
    options: Options,
}

/// Events that all passed.
struct Batch<'c> {
    events: Vec<Event<'c>>,
    fallback_max_retries: i32,
}

struct Event<'c> {
    source: &'c dyn Source,
    /// In bytes.
    size: usize,
    json: Option<String>,
}

/// An event of any type.
trait Source: Send + Sync {
    fn event_type(&self) -> &str;
    fn payload(&self, limit: usize) -> Result<String, EmitError>;
}

impl<E: OutboxEvent> Source for E {
    fn event_type(&self) -> &str {
        OutboxEvent::event_type(self)
    }

    fn payload(&self, limit: usize) -> Result<String, EmitError> {
        payload(self, limit)
    }
}

impl<'c> Batch<'c> {
    fn of<E: OutboxEvent>(
        events: impl IntoIterator<Item = &'c E>,
        emitter: &Emitter,
    ) -> Result<Self, EmitError> {
        let settings = emitter.settings();
        let mut kept = 0_usize;
        let events = events.into_iter().enumerate().map(|(index, event)| {
            let json = payload(event, settings.payload_limit).map_err(at(index))?;
            let size = json.len();
            kept = kept.saturating_add(size);
            Ok(Event {
                source: event,
                size,
                json: (kept <= MAX_KEPT).then_some(json),
            })
        });
        Ok(Self {
            events: events.collect::<Result<_, EmitError>>()?,
            fallback_max_retries: fallback_max_retries::<E>(settings.max_retries)?,
        })
    }
}

fn at(index: usize) -> impl Fn(EmitError) -> EmitError {
    move |source| EmitError::InBatch {
        index,
        source: Box::new(source),
    }
}

/// How many of the first events of these sizes one statement takes.
fn fill(sizes: impl IntoIterator<Item = usize>) -> usize {
    let mut bytes = 0_usize;
    sizes
        .into_iter()
        .take(MAX_EVENTS)
        .enumerate()
        .take_while(|(index, size)| {
            bytes = bytes.saturating_add(*size);
            *index == 0 || bytes <= MAX_BYTES
        })
        .count()
}

/// The events of one statement, as its columns.
#[derive(Default)]
struct Chunk<'e> {
    record_ids: Vec<Uuid>,
    event_ids: Vec<EventId>,
    /// Which of `types`, from 1.
    type_numbers: Vec<i32>,
    payloads: Vec<String>,
    types: Vec<&'e str>,
    linked: LinkedColumns,
}

/// What is linked for each of the types, one below the other.
#[derive(Default)]
struct LinkedColumns {
    type_numbers: Vec<i32>,
    handlers: Vec<&'static str>,
    max_retries: Vec<Option<i32>>,
    aliases: Vec<&'static str>,
    alias_of: Vec<&'static str>,
    candidate_type_numbers: Vec<i32>,
    candidates: Vec<String>,
}

impl LinkedColumns {
    fn add(&mut self, number: i32, event_type: &str) {
        let linked = linked_for(event_type);
        self.type_numbers
            .extend(linked.handlers.iter().map(|_| number));
        self.handlers.extend(&linked.handlers);
        self.max_retries.extend(&linked.max_retries);
        self.aliases.extend(&linked.aliases);
        self.alias_of.extend(&linked.alias_of);
        self.candidate_type_numbers
            .extend(linked.candidates.iter().map(|_| number));
        self.candidates.extend(linked.candidates.iter().cloned());
    }
}

impl<'e> Chunk<'e> {
    /// Of `events`, the first of which has the index `first` in its batch.
    fn of(events: &mut [Event<'e>], first: usize, limit: usize) -> Result<Self, EmitError> {
        let mut chunk = Self::default();
        let mut known = HashMap::new();
        for (index, event) in events.iter_mut().enumerate() {
            let json = match event.json.take() {
                Some(json) => json,
                None => event.source.payload(limit).map_err(at(first + index))?,
            };
            let event_type = event.source.event_type();
            let number = *known.entry(event_type).or_insert_with(|| {
                chunk.types.push(event_type);
                // At most `MAX_EVENTS`.
                let number = i32::try_from(chunk.types.len()).unwrap_or(i32::MAX);
                chunk.linked.add(number, event_type);
                number
            });
            let (record_id, event_id) = new_ids();
            chunk.record_ids.push(record_id);
            chunk.event_ids.push(event_id.into());
            chunk.type_numbers.push(number);
            chunk.payloads.push(json);
        }
        Ok(chunk)
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        columns: &Columns<'_>,
        fallback_max_retries: i32,
        channels: &[String],
    ) -> Result<(), EmitError> {
        sqlx::query(EMIT_MANY)
            .bind(&self.record_ids)
            .bind(&self.event_ids)
            .bind(&self.type_numbers)
            .bind(&self.payloads)
            .bind(&self.types)
            .bind(&columns.headers)
            .bind(&self.linked.type_numbers)
            .bind(&self.linked.handlers)
            .bind(&self.linked.max_retries)
            .bind(&self.linked.aliases)
            .bind(&self.linked.alias_of)
            .bind(&self.linked.candidate_type_numbers)
            .bind(&self.linked.candidates)
            .bind(columns.max_retries)
            .bind(fallback_max_retries)
            .bind(columns.delay_ms)
            .bind(columns.occurred_at)
            .bind(columns.tenant_id)
            .bind(columns.aggregate_type)
            .bind(columns.aggregate_id)
            .bind(columns.partition_key)
            .bind(columns.correlation_id)
            .bind(columns.causation_id)
            .bind(channels)
            .execute(connection)
            .await
            .map_err(EmitError::database)?;
        Ok(())
    }
}

impl<'c> EmitMany<'c> {
    pub(super) fn new<E: OutboxEvent>(
        emitter: Emitter,
        connection: &'c mut PgConnection,
        events: impl IntoIterator<Item = &'c E>,
    ) -> Self {
        Self {
            batch: Batch::of(events, &emitter),
            emitter,
            connection,
            options: Options::default(),
        }
    }

    setters!("events");

    async fn run(self) -> Result<Vec<EventId>, EmitError> {
        self.options.check_transaction(self.connection)?;
        let Batch {
            mut events,
            fallback_max_retries,
        } = self.batch?;
        let settings = self.emitter.settings();
        let columns = self.options.columns(settings.tenant_id.as_deref())?;
        let mut ids = Vec::with_capacity(events.len());
        while ids.len() < events.len() {
            let first = ids.len();
            let rest = &mut events[first..];
            let count = fill(rest.iter().map(|event| event.size));
            let chunk = Chunk::of(&mut rest[..count], first, settings.payload_limit)?;
            chunk
                .write(
                    self.connection,
                    &columns,
                    fallback_max_retries,
                    &settings.channels,
                )
                .await?;
            ids.extend(chunk.event_ids);
        }
        Ok(ids)
    }
}

impl<'c> IntoFuture for EmitMany<'c> {
    type Output = Result<Vec<EventId>, EmitError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl std::fmt::Debug for EmitMany<'_> {
    /// Counts the events only: payloads don't reach logs by accident.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmitMany")
            .field(
                "events",
                &self.batch.as_ref().map(|batch| batch.events.len()),
            )
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_what_fits_and_at_least_one() {
        assert_eq!(fill([]), 0);
        assert_eq!(fill([10; 999]), 999);
        assert_eq!(fill([10; 1_001]), 1_000);
        assert_eq!(fill([MAX_BYTES + 1, 1]), 1);
        assert_eq!(fill([1, MAX_BYTES]), 1);
        assert_eq!(fill([MAX_BYTES / 2; 3]), 2);
        assert_eq!(fill([usize::MAX; 3]), 1);
    }
}
