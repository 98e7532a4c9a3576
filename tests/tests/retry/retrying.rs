//! The worker process of this binary's tests.

use std::process::Command;

use outbox::{OutboxRecord, RawEvent, RecordId};
use outbox_tests::{Database, Worker};

/// A database with a table for the worker's attempts.
pub(crate) async fn database() -> Database {
    let database = Database::new().await;
    database.keep_history().await;
    sqlx::query(
        "CREATE TABLE attempts (record uuid, attempt int, at timestamptz DEFAULT clock_timestamp())",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    database
}

/// How to start the worker.
pub(crate) fn command(database: &Database) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrying-worker"));
    command.env("DATABASE_URL", database.url());
    command
}

/// A started worker.
pub(crate) async fn started(command: &mut Command) -> Worker {
    let worker = Worker::spawn_command(command);
    worker.line("ready").await;
    worker
}

/// Emits to the subscribed worker an event that succeeds at the attempt `good`.
pub(crate) async fn emit(database: &Database, good: i32) -> OutboxRecord {
    let payload = outbox::serde_json::json!({ "good": good });
    let event = RawEvent::new("retrying_worker.asked", &payload);
    let emitted = database.emit(&event).await;
    assert_eq!(emitted.handler.as_deref(), Some("retrying_worker"));
    emitted
}

/// The numbers of the record's attempts, as they were told.
pub(crate) async fn attempts(database: &Database, id: RecordId) -> Vec<i32> {
    sqlx::query_scalar("SELECT attempt FROM attempts WHERE record = $1 ORDER BY at")
        .bind(id)
        .fetch_all(&database.pool())
        .await
        .unwrap()
}
