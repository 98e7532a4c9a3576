//! Starting: what is refused and how it says so, and what a started runtime stands on.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod context;
mod default_limit;
mod g4_out_of_connections;
mod handle;
mod l1_l2_linked;
mod options;
mod policies;
mod pools;
mod problems_together;
mod row_security;
mod schema_missing;
mod states;
mod unreachable;

use outbox::sqlx::PgPool;
use outbox::{EventId, OutboxEvent, OutboxRecord, Start, StartError, Status};
use outbox_tests::{Database, eventually};
use tokio::sync::Mutex;

/// Held by a test that sets `retry.max_retries`: it is the default of the whole process's emits.
static EXPLICIT_LIMIT: Mutex<()> = Mutex::const_new(());

/// Starts, and returns the problems that it is refused for, as they are printed.
async fn problems(start: Start) -> Vec<String> {
    let error = start.await.expect_err("start is refused");
    assert!(matches!(error, StartError::Refused(_)), "{error:?}");
    error.problems().iter().map(ToString::to_string).collect()
}

/// Emits in a transaction of its own.
async fn emit(pool: &PgPool, event: &impl OutboxEvent) -> EventId {
    let mut tx = pool.begin().await.unwrap();
    let id = outbox::emit(&mut tx, event).await.unwrap();
    tx.commit().await.unwrap();
    id
}

/// Waits until `rows` records are there and all are SENT, and returns them.
async fn sent(database: &Database, rows: usize) -> Vec<OutboxRecord> {
    eventually("all records are sent", async || {
        let found = database.rows().await;
        let done = found.len() == rows && found.iter().all(|row| row.status == Status::Sent);
        if done { Ok(found) } else { Err(found) }
    })
    .await
}
