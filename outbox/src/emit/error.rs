//! Why an event was not emitted.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgDatabaseError;

use super::limits::{MAX_DELAY, MAX_PAYLOAD_LIMIT};
use crate::channel::ChannelError;
use crate::decode::DecodeError;
use crate::encode::{EncodeError, MAX_DEPTH};
use crate::json_text::JsonFault;
use crate::pattern::NameFault;

/// Why an event was not emitted.
///
/// All but [`Database`](Self::Database) and [`NotMigrated`](Self::NotMigrated) are found before
/// anything is sent to the server: the transaction is as usable as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The connection is not in a transaction, so the event and the change that it tells of could
    /// not succeed or fail together.
    #[error(
        "the connection is not in a transaction; begin one with `pool.begin().await?` and pass `&mut tx`, or say `.in_own_transaction()` if BEGIN was sent as text"
    )]
    NotInTransaction,

    /// The event's type or a field of its metadata is no valid name or identifier.
    #[error("`{field}` can't be stored: {fault}")]
    InvalidField {
        /// The column: `event_type`, `tenant_id`, `correlation_id`, …
        field: &'static str,
        /// What is wrong with it.
        fault: NameFault,
    },

    /// A header's key or value holds U+0000.
    #[error("header {key:?} contains a NUL character, which PostgreSQL does not store")]
    NulInHeader {
        /// The header's key.
        key: String,
    },

    /// The headers, as JSON text, are too large.
    #[error("the headers have {size} bytes as JSON; at most {limit} are allowed")]
    HeadersTooLarge {
        /// Their size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },

    /// The payload, as JSON text, is larger than the emitter allows.
    #[error(
        "the payload of the `{event_type}` has {size} bytes; at most {limit} are allowed: store the bulk elsewhere and send a reference, or raise `Emitter::builder().payload_limit(…)`"
    )]
    PayloadTooLarge {
        /// The event's type.
        event_type: String,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },

    /// A number of the event is NaN or infinite.
    #[error(
        "a number of the `{event_type}` is NaN or infinite, which JSON can't say; leave the field out or send a string"
    )]
    NotFinite {
        /// The event's type.
        event_type: String,
    },

    /// The event nests deeper than a reader would follow.
    #[error(
        "the `{event_type}` is nested deeper than {MAX_DEPTH} levels, which can't be read back"
    )]
    TooDeep {
        /// The event's type.
        event_type: String,
    },

    /// The payload holds U+0000, in a value or in a key.
    #[error(
        "the payload of the `{event_type}` has a NUL character at byte {at}, which PostgreSQL does not store; take it out or encode the bytes"
    )]
    Nul {
        /// The event's type.
        event_type: String,
        /// Where, in the JSON text.
        at: usize,
    },

    /// The payload is no JSON, or JSON that PostgreSQL can't store.
    #[error("the payload of the `{event_type}` can't be stored: {fault}")]
    InvalidPayload {
        /// The event's type.
        event_type: String,
        /// What is wrong with it.
        fault: JsonFault,
    },

    /// The event's own `Serialize` reported an error, or a map key is neither string nor number.
    #[error("serializing the `{event_type}` failed")]
    Serializer {
        /// The event's type.
        event_type: String,
        /// The serializer's error.
        source: serde_json::Error,
    },

    /// What would be stored can't be read back as the event's type.
    #[error(
        "the `{event_type}` can't be read back from its JSON; numbers beyond 64 bits, and with `serde_json/arbitrary_precision` all numbers, may get lost in `flatten` and in tagged enums: send them as strings"
    )]
    Unreadable {
        /// The event's type.
        event_type: String,
        /// What a handler would have met.
        source: DecodeError,
    },

    /// What would be stored reads back as another value.
    #[error(
        "the `{event_type}` reads back from its JSON as another value; numbers beyond 64 bits, and with `serde_json/arbitrary_precision` all numbers, may get lost: send them as strings"
    )]
    Inexact {
        /// The event's type.
        event_type: String,
    },

    /// A limit of attempts below 1.
    #[error("expected `max_retries` to be at least 1, got {0}")]
    InvalidMaxRetries(i32),

    /// A delay beyond a hundred years.
    #[error("expected `delay` to be at most {days} days, got {0:?}", days = MAX_DELAY.as_secs() / 86_400)]
    DelayTooLong(std::time::Duration),

    /// A time before the year 1 or after the year 9999.
    #[error("expected `occurred_at` to be in the years 1 to 9999, got {0}")]
    InvalidOccurredAt(DateTime<Utc>),

    /// A payload limit that an emitter can't have.
    #[error("expected `payload_limit` to be 1 to {max} bytes, got {limit}", max = MAX_PAYLOAD_LIMIT)]
    InvalidPayloadLimit {
        /// The limit that was asked for, in bytes.
        limit: usize,
    },

    /// A name that can't be a channel.
    #[error("the emitter's channel can't be used")]
    InvalidChannel(#[source] ChannelError),

    /// An event of a batch is at fault; none was written.
    #[error("event {index} of the batch, counted from 0, is refused")]
    InBatch {
        /// Which one, from 0.
        index: usize,
        /// Why.
        source: Box<EmitError>,
    },

    /// The outbox's tables are not there, or are older than this version needs. The transaction is
    /// aborted.
    #[error(
        "the outbox's tables are missing or older than needed; run `outbox::migrate(&pool).await?` before, and see that `search_path` names their schema"
    )]
    NotMigrated(#[source] sqlx::Error),

    /// The server reported an error, or could not be reached. The transaction is aborted.
    #[error("writing to the outbox failed")]
    Database(#[source] sqlx::Error),
}

impl EmitError {
    pub(super) fn encoding(event_type: &str, error: EncodeError) -> Self {
        let event_type = event_type.to_owned();
        match error {
            EncodeError::NotFinite => Self::NotFinite { event_type },
            EncodeError::TooDeep => Self::TooDeep { event_type },
            EncodeError::Serializer(source) => Self::Serializer { event_type, source },
        }
    }

    pub(super) fn payload(event_type: &str, fault: JsonFault) -> Self {
        let event_type = event_type.to_owned();
        match fault {
            JsonFault::Nul(at) => Self::Nul { event_type, at },
            JsonFault::TooDeep => Self::TooDeep { event_type },
            fault => Self::InvalidPayload { event_type, fault },
        }
    }

    pub(super) fn database(error: sqlx::Error) -> Self {
        if is_not_migrated(&error) {
            Self::NotMigrated(error)
        } else {
            Self::Database(error)
        }
    }
}

/// Whether a statement met a table or column that is not there.
pub(crate) fn is_not_migrated(error: &sqlx::Error) -> bool {
    const UNDEFINED_TABLE: &str = "42P01";
    const UNDEFINED_COLUMN: &str = "42703";
    error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<PgDatabaseError>())
        .is_some_and(|error| [UNDEFINED_TABLE, UNDEFINED_COLUMN].contains(&error.code()))
}
