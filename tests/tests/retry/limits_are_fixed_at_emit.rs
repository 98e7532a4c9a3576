//! The limit that a record was written with is the one that counts, whoever delivers it later.

use std::time::Duration;

use outbox::{Backoff, OutboxEvent, Retry, Status};
use outbox_tests::{Database, eventually};

use crate::retrying;

#[derive(OutboxEvent)]
#[outbox(event = "limits.asked", max_retries = 7)]
struct Asked;

#[outbox::handler(event = "limits.asked", name = "limits", max_retries = 3)]
async fn asked(_: Asked) -> Result<(), &'static str> {
    Err("no")
}

async fn start(database: &Database) -> outbox::Outbox {
    let retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::ZERO);
    outbox::start(database.pool())
        .only(["limits"])
        .retry(retry)
        .await
        .unwrap()
}

#[tokio::test]
async fn neither_the_handlers_attribute_nor_the_subscription_changes_a_record() {
    let database = Database::new().await;
    let first = start(&database).await;
    first.shutdown().await.unwrap();
    let attribute = database.emit(&Asked).await;
    let call = database.emit_with(&Asked, |emit| emit.max_retries(6)).await;
    // As a version of the handler with another limit has written it.
    let (former,): (outbox::RecordId,) = sqlx::query_as(
        "INSERT INTO outbox_events (event_type, payload, handler, max_retries)
         VALUES ('limits.asked', 'null', 'limits', 2) RETURNING id",
    )
    .fetch_one(&database.pool())
    .await
    .unwrap();
    assert_eq!(
        (attribute.max_retries, call.max_retries),
        (Some(3), Some(6))
    );

    sqlx::query("UPDATE outbox_handlers SET max_retries = 1")
        .execute(&database.pool())
        .await
        .unwrap();
    let second = start(&database).await;
    for (id, limit) in [(attribute.id, 3), (call.id, 6), (former, 2)] {
        let row = database.row_when_ended(id).await;
        assert_eq!(
            (row.status, row.retry_count, row.max_retries),
            (Status::Failed, limit, Some(limit))
        );
    }
    second.shutdown().await.unwrap();
}

async fn is_fixed(emitting: i32, delivering: i32) {
    let database = retrying::database().await;
    let mut first = retrying::started(
        retrying::command(&database)
            .env("MAX_RETRIES", emitting.to_string())
            .env("EMIT", r#"{"good": 99}"#),
    )
    .await;
    let emitted = eventually("the event is written", async || database.rows().await.pop()).await;
    first.kill();
    assert_eq!(
        (emitted.max_retries, emitted.retry_count),
        (Some(emitting), 0)
    );

    let delivering = delivering.to_string();
    let _worker =
        retrying::started(retrying::command(&database).env("MAX_RETRIES", delivering)).await;
    let failed = database.row_when_hurried(emitted.id).await;
    assert_eq!(
        (failed.status, failed.retry_count, failed.max_retries),
        (Status::Failed, emitting, Some(emitting))
    );
    let attempts: Vec<i32> = (1..=emitting).collect();
    assert_eq!(retrying::attempts(&database, emitted.id).await, attempts);
}

#[tokio::test]
async fn a_runtime_with_a_higher_limit_gives_no_more_attempts() {
    is_fixed(2, 9).await;
}

#[tokio::test]
async fn a_runtime_with_a_lower_limit_gives_no_fewer() {
    is_fixed(6, 1).await;
}

/// A plain SQL producer chooses no limit: who binds the record does, and then it stands, too.
#[tokio::test]
async fn binding_fixes_the_limit() {
    let database = retrying::database().await;
    let hour = "3600000";
    let mut worker = retrying::started(
        retrying::command(&database)
            .env("MAX_RETRIES", "4")
            .env("INITIAL_DELAY_MS", hour),
    )
    .await;
    sqlx::query(
        "INSERT INTO outbox_events (event_type, payload)
         VALUES ('retrying_worker.asked', '{\"good\": 99}')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let written = database.rows().await.remove(0);
    let bound = database
        .row_when(written.id, |row| row.retry_count == 1)
        .await;
    assert_eq!(bound.max_retries, Some(4));
    worker.kill();

    let _worker = retrying::started(retrying::command(&database).env("MAX_RETRIES", "2")).await;
    let failed = database.row_when_hurried(written.id).await;
    assert_eq!(
        (failed.status, failed.retry_count, failed.max_retries),
        (Status::Failed, 4, Some(4))
    );
}
