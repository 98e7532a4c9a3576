//! The operator's hand on the table.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod k2_mutations;
mod k4_tenants;

use outbox::{Mutation, OutboxRecord, RecordId, Status};
use outbox_tests::Database;
use sqlx::{PgExecutor, query};

/// Inserts a record of `tenant` that is in `status` as a runtime leaves it.
async fn record(database: &Database, status: Status, tenant: Option<&str>) -> RecordId {
    let id = RecordId::from(outbox::uuid::Uuid::now_v7());
    query(
        "INSERT INTO outbox_events
           (id, event_type, handler, payload, headers, status, retry_count, max_retries, recovery_count, tenant_id,
            last_error, claim_token, lease_expires_at, claimed_by, processed_at, failed_at,
            next_attempt_at, created_at, occurred_at, updated_at)
         SELECT $1, 'admin.paid', 'admin.mail', '{\"order_id\": 7}', '{\"source\": \"api\"}', $2, 5, 5, 1, $3,
                'the last error',
                CASE WHEN $2 = 'PROCESSING' THEN gen_random_uuid() END,
                CASE WHEN $2 = 'PROCESSING' THEN now() + interval '5 minutes' END,
                CASE WHEN $2 = 'PROCESSING' THEN 'a node' END,
                CASE WHEN $2 IN ('SENT', 'FAILED') THEN hour_ago END,
                CASE WHEN $2 = 'FAILED' THEN hour_ago END,
                hour_ago, hour_ago, hour_ago, hour_ago
         FROM (SELECT now() - interval '1 hour' AS hour_ago) t",
    )
    .bind(id)
    .bind(status.as_str())
    .bind(tenant)
    .execute(&database.pool())
    .await
    .unwrap();
    id
}

async fn row(database: &Database, id: RecordId) -> OutboxRecord {
    let rows = database.rows().await;
    rows.into_iter().find(|row| row.id == id).unwrap()
}

/// Claims the record as a runtime does; whether it was to be had.
async fn claim(executor: impl PgExecutor<'_>, id: RecordId) -> bool {
    let claimed = query(
        "UPDATE outbox_events SET status = 'PROCESSING', claim_token = gen_random_uuid(),
           lease_expires_at = clock_timestamp() + interval '5 minutes', updated_at = clock_timestamp()
         WHERE id = $1 AND status = 'PENDING'",
    )
    .bind(id)
    .execute(executor)
    .await
    .unwrap();
    claimed.rows_affected() == 1
}

fn conflict(current: Status) -> Mutation {
    Mutation::Conflict { current }
}
