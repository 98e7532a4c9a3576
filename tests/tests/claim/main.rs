//! Claiming, settling, recovering, releasing: what each does to the row, and what it leaves alone.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod b17_poison;
mod b2_shutdown_mid_claim;
mod b4_slow_handlers;
mod b9_baseline;
mod c8_rolling_deployment;
mod fairness;
mod fence;
mod fence_admin;
mod fence_bind;
mod fence_claim;
mod fence_heartbeat;
mod fence_judge;
mod fence_reclaim;
mod fence_recover;
mod fence_release;
mod fence_settle;
mod late_commit;
mod lost_reply;
mod many_types;
mod plain_sql;
mod racing_binders;
mod renamed;
mod statements;
mod transitions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outbox::{OutboxEvent, OutboxRecord, Status};
use outbox_tests::{Database, eventually};

/// How often a module's handler has run.
#[derive(Debug, Clone, Default)]
struct Runs(Arc<AtomicUsize>);

impl Runs {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    async fn reach(&self, runs: usize) {
        let what = format!("{runs} runs");
        eventually(what, async || self.count() >= runs).await;
    }
}

async fn emit<E: OutboxEvent>(database: &Database, events: &[E]) {
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, events).await.unwrap();
    tx.commit().await.unwrap();
}

/// Runs a statement of the test's own.
async fn execute(database: &Database, sql: &str) {
    let sql = sqlx::AssertSqlSafe(sql.to_owned());
    sqlx::raw_sql(sql).execute(&database.pool()).await.unwrap();
}

/// Waits until there are so many records and all are delivered: the rows.
async fn sent(database: &Database, records: usize) -> Vec<OutboxRecord> {
    eventually(format!("{records} records are delivered"), async || {
        let rows = database.rows().await;
        let sent = rows.iter().filter(|row| row.status == Status::Sent).count();
        let all = sent == records && rows.len() == records;
        if all {
            Ok(rows)
        } else {
            Err((sent, rows.len()))
        }
    })
    .await
}
