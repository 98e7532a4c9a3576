//! What wakes a runtime, and how it goes on after trouble with its database.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod a10_rolled_back_wake;
mod a2_held_transaction;
mod due_times;
mod g2_pool_of_one;
mod g6_isolation;
mod h1_lost_connections;
mod h1_restart;
mod h2_listener_killed;
mod h6_polling;
mod h8_one_notification;
mod k2_retry_wakes;
mod read_only_window;
mod rolled_back;
mod shared_table;

use std::time::Duration;

use outbox::{OutboxRecord, Status};
use outbox_tests::Database;

/// A poll interval so long that polling explains nothing.
const NEVER: Duration = Duration::from_hours(1);

/// `emitted` as the first attempt's success leaves it: `row` says when, and nothing else.
fn sent(emitted: &OutboxRecord, row: &OutboxRecord) -> OutboxRecord {
    OutboxRecord {
        status: Status::Sent,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..emitted.clone()
    }
}

/// Waits until `emitted` is delivered, at its first attempt, and returns its row.
async fn delivered(database: &Database, emitted: &OutboxRecord) -> OutboxRecord {
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(row, sent(emitted, &row));
    row
}

/// Ends all connections to the test's database but those of the test's own that say so.
async fn terminate_all(connection: &mut sqlx::PgConnection) -> i64 {
    sqlx::query_scalar(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .fetch_one(connection)
    .await
    .unwrap()
}
