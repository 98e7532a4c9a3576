//! Whether the schema is what the statements need.

use sqlx::Row;

use crate::session::Sessions;

const SCHEMA: &str = include_str!("sql/schema.sql");

const EVENTS: &[&str] = &[
    "id",
    "event_id",
    "event_type",
    "handler",
    "payload",
    "headers",
    "status",
    "retry_count",
    "max_retries",
    "next_attempt_at",
    "claim_token",
    "lease_expires_at",
    "claimed_by",
    "recovery_count",
    "last_error",
    "created_at",
    "occurred_at",
    "updated_at",
    "processed_at",
    "failed_at",
    "tenant_id",
    "aggregate_type",
    "aggregate_id",
    "partition_key",
    "correlation_id",
    "causation_id",
    "idempotency_key",
    "ordering_key",
];
const HANDLERS: &[&str] = &[
    "handler",
    "patterns",
    "max_retries",
    "aliases",
    "last_seen_at",
];
const INDEXES: &[&str] = &[
    "outbox_events_pkey",
    "outbox_events_due",
    "outbox_events_unbound_due",
];

/// The oldest server that the statements run on.
const OLDEST_SERVER: i32 = 130_000;

/// What the server says of itself and of the outbox's tables.
#[derive(Debug)]
pub(crate) struct Found {
    /// Such as `table outbox_events`, `column outbox_events.handler`.
    pub(crate) missing: Vec<String>,
    /// Which table `outbox_events` is, to compare with what other connections see.
    pub(crate) events: Option<i64>,
    /// Tables of which row level security hides rows from this role.
    pub(crate) row_secured: Vec<String>,
    /// What this role may not do, such as `UPDATE on outbox_events`.
    pub(crate) forbidden: Vec<String>,
    pub(crate) encoding: String,
    pub(crate) isolation: String,
    pub(crate) version: i32,
    pub(crate) search_path: String,
}

impl Found {
    pub(crate) fn too_old(&self) -> bool {
        self.version < OLDEST_SERVER
    }
}

/// Asks the server.
pub(crate) async fn look(sessions: &Sessions) -> sqlx::Result<Found> {
    let columns = EVENTS
        .iter()
        .map(|column| ("outbox_events", *column))
        .chain(HANDLERS.iter().map(|column| ("outbox_handlers", *column)));
    let (tables, columns): (Vec<&str>, Vec<&str>) = columns.unzip();
    let statement = sqlx::query(SCHEMA).bind(tables).bind(columns).bind(INDEXES);
    let rows = sessions.fetch(statement).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok(Found {
        missing: row.try_get("missing")?,
        events: row.try_get("events_oid")?,
        row_secured: row.try_get("row_secured")?,
        forbidden: row.try_get("forbidden")?,
        encoding: row.try_get("encoding")?,
        isolation: row.try_get("isolation")?,
        version: row.try_get("version")?,
        search_path: row.try_get("search_path")?,
    })
}
