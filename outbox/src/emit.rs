//! Emitting: an event is written in the transaction of the change that it tells of.

pub(crate) mod default;
mod emitter;
mod error;
mod limits;
mod many;
mod request;
mod single;

use sqlx::PgConnection;

pub use self::emitter::{Emitter, EmitterBuilder};
pub use self::error::EmitError;
pub(crate) use self::error::is_not_migrated;
pub use self::many::EmitMany;
pub use self::single::Emit;
use crate::event::OutboxEvent;

/// Writes `event` into the outbox, in the transaction `tx`: with its commit the event is there for
/// every handler of its type, and with its rollback it is gone.
///
/// One row is written for each handler that is linked into this binary or subscribed to the type
/// (table `outbox_handlers`); where there is none, one row that the first consumer binds to its
/// handlers. It is one statement and one round trip, the notification of the pollers included; where
/// handlers have former names (`alias`), one of a thousand emits takes a second one.
///
/// `tx` is a transaction (`&mut tx`), also a nested one, or the connection of one (`&mut *tx`). A
/// connection that is in no transaction is refused.
///
/// The attempts that a record gets (`max_retries`) are fixed here. They come from, in this order:
/// the call ([`Emit::max_retries`]), the handler's attribute, its subscription, the event's
/// attribute, the emitter's setting (`retry.max_retries` of the running runtimes), 5.
///
/// ```
/// use std::time::Duration;
/// use outbox::OutboxEvent;
///
/// # #[derive(OutboxEvent)]
/// # struct OrderCreated { order_id: u64 }
/// async fn create_order(pool: &outbox::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
///     let mut tx = pool.begin().await?;
///     // … INSERT INTO orders …
///     outbox::emit(&mut tx, &OrderCreated { order_id: 7 })
///         .tenant("acme")
///         .header("source", "api")
///         .delay(Duration::from_secs(60))
///         .await?;
///     tx.commit().await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// Awaiting the builder fails with an [`EmitError`].
// The compiler shows the line of the name to who passes something else, such as a pool.
#[rustfmt::skip]
pub fn emit<'c, E: OutboxEvent>( // needs a transaction: `let mut tx = pool.begin().await?;`, then `&mut tx`
    tx: &'c mut PgConnection,
    event: &E,
) -> Emit<'c> {
    Emit::new(default::emitter(), tx, event)
}

/// Writes `events` into the outbox, in the transaction `tx`; as [`emit`] for each of them, in one
/// statement for up to 1,000 events or 8 MiB of JSON.
///
/// All events are checked before any is written. What the builder sets goes for all of them. The
/// ids come in the order of the events; no events are no statement. Beyond 16 MiB of JSON the
/// events are serialized a second time when they are written, instead of being kept.
///
/// ```
/// use outbox::OutboxEvent;
///
/// # #[derive(OutboxEvent)]
/// # struct OrderCreated { order_id: u64 }
/// async fn import(pool: &outbox::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
///     let events = [7, 8, 9].map(|order_id| OrderCreated { order_id });
///     let mut tx = pool.begin().await?;
///     let ids = outbox::emit_many(&mut tx, &events).correlation_id("import 12").await?;
///     tx.commit().await?;
///     assert_eq!(ids.len(), 3);
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// Awaiting the builder fails with an [`EmitError`].
#[rustfmt::skip] // as at `emit`
pub fn emit_many<'c, E: OutboxEvent>( // needs a transaction: `let mut tx = pool.begin().await?;`, then `&mut tx`
    tx: &'c mut PgConnection,
    events: impl IntoIterator<Item = &'c E>,
) -> EmitMany<'c> {
    EmitMany::new(default::emitter(), tx, events)
}

impl Emitter {
    /// Writes `event` into the outbox, in the transaction `tx`; as [`outbox::emit`](crate::emit)
    /// with this emitter's settings.
    #[rustfmt::skip] // as at the function `emit`
    pub fn emit<'c, E: OutboxEvent>( // needs a transaction: `let mut tx = pool.begin().await?;`, then `&mut tx`
        &self,
        tx: &'c mut PgConnection,
        event: &E,
    ) -> Emit<'c> {
        Emit::new(self.clone(), tx, event)
    }

    /// Writes `events` into the outbox, in the transaction `tx`; as
    /// [`outbox::emit_many`](crate::emit_many) with this emitter's settings.
    #[rustfmt::skip] // as at the function `emit`
    pub fn emit_many<'c, E: OutboxEvent>( // needs a transaction: `let mut tx = pool.begin().await?;`, then `&mut tx`
        &self,
        tx: &'c mut PgConnection,
        events: impl IntoIterator<Item = &'c E>,
    ) -> EmitMany<'c> {
        EmitMany::new(self.clone(), tx, events)
    }
}

/// The setters that both builders have; `$what` is what they are about.
macro_rules! setters {
    ($what:literal) => {
        #[doc = concat!("The tenant of the ", $what, ". Default the emitter's, else none.")]
        ///
        /// 1 to 255 characters without white space at either end, as all identifiers here.
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn tenant(mut self, tenant_id: impl ToString) -> Self {
            self.options.tenant_id = Some(tenant_id.to_string());
            self
        }

        /// A header, which handlers read with `Context::header`. A key that was set before gets
        /// the new value. All headers together take at most 64 KiB as JSON.
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn header(mut self, key: impl ToString, value: impl ToString) -> Self {
            self.options.headers.insert(key.to_string(), value.to_string());
            self
        }

        /// Several headers: a map, or any pairs of key and value; as `header` for each of them.
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn headers<K: ToString, V: ToString>(
            mut self,
            headers: impl IntoIterator<Item = (K, V)>,
        ) -> Self {
            let headers = headers.into_iter();
            self.options
                .headers
                .extend(headers.map(|(key, value)| (key.to_string(), value.to_string())));
            self
        }

        #[doc = concat!("What ties the ", $what, " to a request or a process. Default none.")]
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn correlation_id(mut self, id: impl ToString) -> Self {
            self.options.correlation_id = Some(id.to_string());
            self
        }

        #[doc = concat!("What caused the ", $what, ": by convention another event's id. Default none.")]
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn causation_id(mut self, id: impl ToString) -> Self {
            self.options.causation_id = Some(id.to_string());
            self
        }

        #[doc = concat!("The type and the id of the thing that the ", $what, " happened to. Default none.")]
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn aggregate(mut self, kind: impl ToString, id: impl ToString) -> Self {
            self.options.aggregate = Some((kind.to_string(), id.to_string()));
            self
        }

        /// The key by which a broker would partition; kept for consumers. Default none.
        #[allow(clippy::needless_pass_by_value, reason = "`EventId`, `Uuid` and numbers are texts, but not `Into<String>`")]
        pub fn partition_key(mut self, key: impl ToString) -> Self {
            self.options.partition_key = Some(key.to_string());
            self
        }

        #[doc = concat!("When the ", $what, " happened, kept to the microsecond; a year from 1 to 9999.")]
        /// Default when the row is written, by PostgreSQL's clock.
        pub fn occurred_at(mut self, time: impl Into<chrono::DateTime<chrono::Utc>>) -> Self {
            self.options.occurred_at = Some(time.into());
            self
        }

        #[doc = concat!("Delivers the ", $what, " no sooner than this long after the row is written,")]
        /// by PostgreSQL's clock. Default none. Rounded up to the millisecond; at most a hundred
        /// years (36,525 days).
        pub fn delay(mut self, delay: std::time::Duration) -> Self {
            self.options.delay = delay;
            self
        }

        /// Attempts in all for each record, whatever handler, subscription, event type and emitter
        /// say. At least 1.
        pub fn max_retries(mut self, attempts: i32) -> Self {
            self.options.max_retries = Some(attempts);
            self
        }

        /// Says that the connection is in a transaction although its driver does not know, because
        /// BEGIN was sent as text. Without one the write commits at once and by itself.
        pub fn in_own_transaction(mut self) -> Self {
            self.options.in_own_transaction = true;
            self
        }
    };
}

use setters;
