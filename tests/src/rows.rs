//! The table as values.

use outbox::OutboxRecord;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::{AssertSqlSafe, PgExecutor, Postgres, query_as};

/// All rows of `outbox_events`, whole, in the order of their ids.
///
/// # Errors
///
/// When the table can't be read, which a test that stops the server expects.
pub async fn rows(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<OutboxRecord>> {
    records("outbox_events ORDER BY id")
        .fetch_all(executor)
        .await
}

/// Whole rows of what follows the FROM.
pub(crate) fn records(from: &str) -> QueryAs<'static, Postgres, OutboxRecord, PgArguments> {
    query_as(AssertSqlSafe(format!(
        "SELECT id, event_id, event_type, handler, payload::text, headers::text, status,
                retry_count, max_retries, next_attempt_at, claim_token, lease_expires_at,
                claimed_by, recovery_count, last_error, created_at, occurred_at, updated_at,
                processed_at, failed_at, tenant_id, aggregate_type, aggregate_id, partition_key,
                correlation_id, causation_id, idempotency_key, ordering_key
         FROM {from}"
    )))
}
