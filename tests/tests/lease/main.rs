//! Leases: kept while their owner lives, lost when it does not, never won back.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod b10_no_deadlocks;
mod b15_locked_row;
mod b16_dropped_runtime;
mod b3_late_owner;
mod b6_blocked_threads;
mod b7_failed_renewals;
mod b8_recovery_by_time;
mod cancel_grace;
mod in_doubt;
mod queued_rows;
mod refused_result;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use outbox::{Lease, OutboxEvent, OutboxRecord, Status};
use outbox_tests::{Database, eventually};
use tokio::sync::Semaphore;

/// What a test and its handler know of each other.
#[derive(Debug, Clone)]
struct Stage(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    begun: AtomicUsize,
    cancelled: AtomicUsize,
    dropped: AtomicUsize,
    gate: Semaphore,
}

impl Stage {
    fn new() -> Self {
        Self(Arc::new(Inside {
            begun: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            gate: Semaphore::new(0),
        }))
    }

    /// A handler has begun.
    fn begin(&self) {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// A handler waits for the test.
    async fn pass(&self) {
        self.0.gate.acquire().await.unwrap().forget();
    }

    /// Lets so many handlers pass.
    fn open(&self, handlers: usize) {
        self.0.gate.add_permits(handlers);
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    async fn begins(&self, handlers: usize) {
        let what = format!("{handlers} handlers have begun");
        eventually(what, async || self.begun() >= handlers).await;
    }
}

/// A lease of so many milliseconds, renewed five times in it.
fn lease(ms: u64) -> Lease {
    Lease::default().duration(Duration::from_millis(ms))
}

async fn emit<E: OutboxEvent>(database: &Database, events: &[E]) {
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
}

async fn only(database: &Database) -> OutboxRecord {
    let mut rows = database.rows().await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.remove(0)
}

/// Waits until every record is delivered: the rows.
async fn all_sent(database: &Database) -> Vec<OutboxRecord> {
    eventually("every record is delivered", async || {
        let rows = database.rows().await;
        let sent = rows.iter().all(|row| row.status == Status::Sent);
        if sent { Ok(rows) } else { Err(rows) }
    })
    .await
}

/// Changes all records as UPDATE takes it.
async fn change(database: &Database, assignments: &str) {
    let sql = format!("UPDATE outbox_events SET {assignments}");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .execute(&database.pool())
        .await
        .unwrap();
}

/// Whether the only record's lease has run out.
async fn lease_is_over(database: &Database) -> bool {
    let over = "SELECT lease_expires_at <= clock_timestamp() FROM outbox_events";
    let over = sqlx::query_scalar::<_, Option<bool>>(over);
    over.fetch_one(&database.pool()).await.unwrap() == Some(true)
}
