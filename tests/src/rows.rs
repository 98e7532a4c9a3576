//! The table as values.

use outbox::OutboxRecord;
use sqlx::{PgExecutor, query_as};

/// All rows of `outbox_events`, whole, in the order of their ids.
///
/// # Errors
///
/// When the table can't be read, which a test that stops the server expects.
pub async fn rows(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<OutboxRecord>> {
    query_as(
        "SELECT id, event_id, event_type, handler, payload::text, headers::text, status,
                retry_count, max_retries, next_attempt_at, claim_token, lease_expires_at,
                claimed_by, recovery_count, last_error, created_at, occurred_at, updated_at,
                processed_at, failed_at, tenant_id, aggregate_type, aggregate_id, partition_key,
                correlation_id, causation_id, idempotency_key, ordering_key
         FROM outbox_events ORDER BY id",
    )
    .fetch_all(executor)
    .await
}
