//! A row of `outbox_events`, whole and as it is claimed.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::ids::{EventId, RecordId};

/// Where a record is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Waits for its time and for a poller.
    Pending,
    /// Claimed by a runtime, under a lease.
    Processing,
    /// Delivered.
    Sent,
    /// Given up; an operator may retry it. A dead letter.
    Failed,
}

impl Status {
    /// The status as the column `status` has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Processing => "PROCESSING",
            Self::Sent => "SENT",
            Self::Failed => "FAILED",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown status `{0}`; expected one of `PENDING`, `PROCESSING`, `SENT`, `FAILED`")]
pub struct UnknownStatus(String);

impl std::str::FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        [Self::Pending, Self::Processing, Self::Sent, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

/// A row of `outbox_events` as a value; the fields are the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the columns, which the schema and its checks explain
pub struct OutboxRecord {
    pub id: RecordId,
    pub event_id: EventId,
    pub event_type: String,
    pub handler: Option<String>,
    pub payload: serde_json::Value,
    pub headers: BTreeMap<String, String>,
    pub status: Status,
    pub retry_count: i32,
    pub max_retries: Option<i32>,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub claim_token: Option<Uuid>,
    pub lease_expires_at: Option<DateTime<Utc>>,
    pub claimed_by: Option<String>,
    pub recovery_count: i32,
    pub last_error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub occurred_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub processed_at: Option<DateTime<Utc>>,
    pub failed_at: Option<DateTime<Utc>>,
    pub tenant_id: Option<String>,
    pub aggregate_type: Option<String>,
    pub aggregate_id: Option<String>,
    pub partition_key: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub ordering_key: Option<String>,
}

impl FromRow<'_, PgRow> for OutboxRecord {
    /// Takes `payload` and `headers` as text (`payload::text`).
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let decode = |column: &str, error: Box<dyn std::error::Error + Send + Sync>| {
            sqlx::Error::ColumnDecode {
                index: column.to_owned(),
                source: error,
            }
        };
        Ok(Self {
            id: row.try_get("id")?,
            event_id: row.try_get("event_id")?,
            event_type: row.try_get("event_type")?,
            handler: row.try_get("handler")?,
            payload: serde_json::from_str(row.try_get("payload")?)
                .map_err(|error| decode("payload", error.into()))?,
            headers: read_headers(row.try_get("headers")?),
            status: row
                .try_get::<&str, _>("status")?
                .parse()
                .map_err(|error: UnknownStatus| decode("status", error.into()))?,
            retry_count: row.try_get("retry_count")?,
            max_retries: row.try_get("max_retries")?,
            next_attempt_at: row.try_get("next_attempt_at")?,
            claim_token: row.try_get("claim_token")?,
            lease_expires_at: row.try_get("lease_expires_at")?,
            claimed_by: row.try_get("claimed_by")?,
            recovery_count: row.try_get("recovery_count")?,
            last_error: row.try_get("last_error")?,
            created_at: row.try_get("created_at")?,
            occurred_at: row.try_get("occurred_at")?,
            updated_at: row.try_get("updated_at")?,
            processed_at: row.try_get("processed_at")?,
            failed_at: row.try_get("failed_at")?,
            tenant_id: row.try_get("tenant_id")?,
            aggregate_type: row.try_get("aggregate_type")?,
            aggregate_id: row.try_get("aggregate_id")?,
            partition_key: row.try_get("partition_key")?,
            correlation_id: row.try_get("correlation_id")?,
            causation_id: row.try_get("causation_id")?,
            idempotency_key: row.try_get("idempotency_key")?,
            ordering_key: row.try_get("ordering_key")?,
        })
    }
}

/// A record in a poller's hands: what an attempt needs of it, the payload still as text.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: RecordId,
    pub(crate) event_id: EventId,
    pub(crate) event_type: String,
    pub(crate) handler: Arc<str>,
    pub(crate) payload: String,
    /// JSON text; `None` when there are no headers.
    pub(crate) headers: Option<String>,
    pub(crate) retry_count: i32,
    pub(crate) max_retries: i32,
    pub(crate) recovery_count: i32,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) occurred_at: DateTime<Utc>,
    pub(crate) tenant_id: Option<String>,
    pub(crate) correlation_id: Option<String>,
    pub(crate) causation_id: Option<String>,
}

impl Claimed {
    pub(crate) fn headers(&self) -> BTreeMap<String, String> {
        self.headers
            .as_deref()
            .map(read_headers)
            .unwrap_or_default()
    }
}

/// Headers from their column's text. A plain SQL producer can write any JSON there: values that are
/// no strings become their JSON text, and what is no object has no headers.
fn read_headers(json: &str) -> BTreeMap<String, String> {
    let read: Result<BTreeMap<String, serde_json::Value>, _> = serde_json::from_str(json);
    let text = |value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    read.unwrap_or_default()
        .into_iter()
        .map(|(key, value)| (key, text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_any_json_are_read() {
        let headers = read_headers(r#"{"a":"x","n":1,"o":{"p":null}}"#);
        let expected = [("a", "x"), ("n", "1"), ("o", r#"{"p":null}"#)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(headers, BTreeMap::from(expected));
        for none in ["{}", "[]", "null", "7"] {
            assert_eq!(read_headers(none), BTreeMap::new(), "{none}");
        }
    }
}
