//! Subscriptions are data: who wants which events, whoever emits them.
//!
//! The programs that emit and run here are processes of their own, each with the handlers that it
//! links: `src/bin/links-*.rs`.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod a12_who_emits;
mod c8_c9_rolling_deployment;
mod ended;
mod renames;
mod unhandled;
mod upsert;

use std::process::Command;

use outbox::sqlx::query_as;
use outbox::{OutboxRecord, Status};
use outbox_tests::{Database, Worker, eventually};

const AUDIT: &str = env!("CARGO_BIN_EXE_links-audit");
const NEW: &str = env!("CARGO_BIN_EXE_links-new");
const NOTHING: &str = env!("CARGO_BIN_EXE_links-nothing");
const OLD: &str = env!("CARGO_BIN_EXE_links-old");

/// A program that runs its handlers.
async fn run(program: &str, database: &Database) -> Worker {
    let mut command = Command::new(program);
    let worker = Worker::spawn_command(command.arg("run").env("DATABASE_URL", database.url()));
    worker.line("started").await;
    worker
}

/// A program that emits one event and ends; the event's id.
async fn emit(program: &str, database: &Database, event_type: &str) -> String {
    let mut command = Command::new(program);
    let command = command.args(["emit", event_type, "{}"]);
    let mut worker = Worker::spawn_command(command.env("DATABASE_URL", database.url()));
    let id = worker.line("emitted ").await;
    assert!(worker.ended().await.success());
    id
}

/// An orderly end.
async fn stop(mut worker: Worker) {
    worker.terminate();
    worker.line("stopped").await;
    assert!(worker.ended().await.success());
}

/// The records of the database by handler and status, in order.
fn states(rows: &[OutboxRecord]) -> Vec<(Option<&str>, Status)> {
    let mut states: Vec<_> = rows
        .iter()
        .map(|row| (row.handler.as_deref(), row.status))
        .collect();
    states.sort_by_key(|(handler, status)| (*handler, status.as_str()));
    states
}

/// Waits until exactly these records are there, and returns the rows.
async fn records_are(
    database: &Database,
    expected: &[(Option<&str>, Status)],
) -> Vec<OutboxRecord> {
    eventually(format!("the records are {expected:?}"), async || {
        let rows = database.rows().await;
        if states(&rows) == expected {
            Ok(rows)
        } else {
            Err(format!("{:?}", states(&rows)))
        }
    })
    .await
}

/// A row of `outbox_handlers`, without the time: handler, patterns, limit, former names.
type Subscription = (String, Vec<String>, Option<i32>, Vec<String>);

async fn subscriptions(database: &Database) -> Vec<Subscription> {
    query_as("SELECT handler, patterns, max_retries, aliases FROM outbox_handlers ORDER BY handler")
        .fetch_all(&database.pool())
        .await
        .unwrap()
}

fn subscription(
    handler: &str,
    patterns: &[&str],
    max_retries: Option<i32>,
    aliases: &[&str],
) -> Subscription {
    let list = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    (
        handler.to_owned(),
        list(patterns),
        max_retries,
        list(aliases),
    )
}
