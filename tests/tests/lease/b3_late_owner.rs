//! B3: an owner that was stopped beyond its lease comes back after another has delivered.

use std::process::Command;

use outbox::{OutboxRecord, Status};
use outbox_tests::{Database, Worker, eventually};
use sqlx::{Connection, query, query_as};

use crate::{lease_is_over, only};

const GATE: i64 = 7;

fn signal(worker: &Worker, signal: &str) {
    let pid = worker.pid().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.unwrap().success(), "kill {signal} {pid}");
}

/// The only row and who wrote it last: equal only if nothing at all was written between.
async fn whole(database: &Database) -> (OutboxRecord, String) {
    let version = query_as("SELECT xmin::text || ' ' || ctid::text FROM outbox_events");
    let (version,): (String,) = version.fetch_one(&database.pool()).await.unwrap();
    (only(database).await, version)
}

/// Stops an owner in the middle of its attempt, lets another deliver, and lets the owner go on: it
/// ends its attempt by `act`, or goes on running when there is none.
async fn comes_back_late(act: Option<&str>) {
    let database = Database::new().await;
    let mut gate = database.connect().await;
    query("SELECT pg_advisory_lock($1)")
        .bind(GATE)
        .execute(&mut gate)
        .await
        .unwrap();
    let record = query_as(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
         VALUES ('worker.told', 'worker', 5, '{}') RETURNING id::text",
    );
    let (record,): (String,) = record.fetch_one(&database.pool()).await.unwrap();

    let owner = Worker::spawn_command(
        Command::new(env!("CARGO_BIN_EXE_worker"))
            .env("DATABASE_URL", database.url())
            .env("ACT", act.unwrap_or_default())
            .env("GRACE_MS", "0")
            .env("GATE", GATE.to_string()),
    );
    owner.line(&format!("begins {record}")).await;
    signal(&owner, "-STOP");
    let stopped = only(&database).await;
    assert_eq!(stopped.status, Status::Processing);
    eventually("the lease is over", async || lease_is_over(&database).await).await;

    let mut other = Worker::spawn(env!("CARGO_BIN_EXE_worker"), database.url());
    eventually("another delivers", async || {
        only(&database).await.status == Status::Sent
    })
    .await;
    other.terminate();
    assert!(other.ended().await.success());
    let sent = whole(&database).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        // Recovery made it due, delivery ended it.
        next_attempt_at: sent.0.next_attempt_at,
        updated_at: sent.0.updated_at,
        processed_at: Some(sent.0.updated_at),
        ..stopped.clone()
    };
    assert_eq!(sent.0, expected);
    assert!(sent.0.next_attempt_at > stopped.lease_expires_at);

    if act.is_some() {
        gate.close().await.unwrap();
    }
    signal(&owner, "-CONT");
    eventually("the late owner learns that its claim is lost", async || {
        let lines = owner.lines();
        let lost = |line: &String| line.contains("lost claim") && line.contains(&record);
        if lines.iter().any(lost) {
            Ok(())
        } else {
            Err(lines)
        }
    })
    .await;
    owner.terminate();
    let mut owner = owner;
    assert!(owner.ended().await.success());
    assert_eq!(whole(&database).await, sent);
}

#[tokio::test]
async fn b3_a_late_completion_changes_nothing() {
    comes_back_late(Some("complete")).await;
}

#[tokio::test]
async fn b3_a_late_failure_changes_nothing() {
    comes_back_late(Some("fail")).await;
}

#[tokio::test]
async fn b3_a_late_panic_changes_nothing() {
    comes_back_late(Some("panic")).await;
}

#[tokio::test]
async fn b3_late_renewals_change_nothing() {
    comes_back_late(None).await;
}
