//! What is due later wakes the poller at its time, without any notification.

use std::time::Duration;

use outbox::{Context, OutboxEvent, OutboxRecord, RawEvent, Retry, Status};
use outbox_tests::{Database, eventually};

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "due_times.asked")]
struct Asked {
    /// The first attempt that succeeds.
    good: i32,
}

#[outbox::handler(event = "due_times.asked", name = "due_times")]
async fn asked(event: Asked, context: Context) -> Result<(), &'static str> {
    if context.attempt() < event.good {
        Err("no")
    } else {
        Ok(())
    }
}

#[outbox::handler(event = "due_times.other", name = "due_times_other")]
async fn other(_: RawEvent) {}

async fn start(database: &Database) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["due_times", "due_times_other"])
        .retry(Retry::default().initial_delay(Duration::from_millis(400)))
        .poll_interval(NEVER)
        .batch_size(2)
        .await
        .unwrap()
}

/// Delivered, and not before its time.
async fn delivered_in_time(database: &Database, emitted: &OutboxRecord) {
    let row = delivered(database, emitted).await;
    assert!(row.processed_at >= row.next_attempt_at, "{row:?}");
}

#[tokio::test]
async fn a_delayed_event() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let delay = Duration::from_millis(1_500);
    let emitted = database
        .emit_with(&Asked { good: 1 }, |emit| emit.delay(delay))
        .await;
    delivered_in_time(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_event_that_was_delayed_before_the_start() {
    let database = Database::new().await;
    let delay = Duration::from_millis(1_500);
    let emitted = database
        .emit_with(&Asked { good: 1 }, |emit| emit.delay(delay))
        .await;
    let outbox = start(&database).await;
    delivered_in_time(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}

/// The sooner one was emitted later.
#[tokio::test]
async fn the_soonest_of_several() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let mut emitted = Vec::new();
    for delay in [1_800, 1_200, 600] {
        let delay = Duration::from_millis(delay);
        let row = database
            .emit_with(&Asked { good: 1 }, |emit| emit.delay(delay))
            .await;
        emitted.push(row);
    }
    for row in emitted {
        delivered_in_time(&database, &row).await;
    }
    outbox.shutdown().await.unwrap();
}

/// The delayed record has no handler yet, and its producer is plain SQL.
#[tokio::test]
async fn a_delayed_record_without_a_handler() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    sqlx::query(
        "WITH written AS (
           INSERT INTO outbox_events (event_type, payload, next_attempt_at)
           VALUES ('due_times.asked', '{\"good\": 1}', now() + interval '1.5 s') RETURNING id)
         SELECT pg_notify('outbox_events', '') FROM written",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let written = database.rows().await.remove(0);
    let row = database.row_when_ended(written.id).await;
    assert!(row.processed_at >= written.next_attempt_at, "{row:?}");
    let bound = OutboxRecord {
        handler: Some("due_times".to_owned()),
        max_retries: Some(5),
        ..written
    };
    assert_eq!(row, crate::sent(&bound, &row));
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_retry() {
    let database = Database::new().await;
    database.keep_history().await;
    let outbox = start(&database).await;
    let emitted = database.emit(&Asked { good: 3 }).await;
    let row = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();
    let expected = OutboxRecord {
        retry_count: 2,
        last_error: Some("no".to_owned()),
        next_attempt_at: row.next_attempt_at,
        ..crate::sent(&emitted, &row)
    };
    assert_eq!(row, expected);
    for pair in database.history(emitted.id).await.windows(2) {
        if pair[0].status == Status::Pending {
            assert!(
                Some(pair[1].updated_at) >= pair[0].next_attempt_at,
                "{pair:?}"
            );
        }
    }
}

/// Claims for one handler alone say nothing of when another's records are due.
async fn survives_work_of_another_handler(database: &Database, waiting: &OutboxRecord) {
    let events: Vec<RawEvent> = (0..25)
        .map(|_| RawEvent::from_text("due_times.other", "{}"))
        .collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    eventually("the other handler's are delivered", async || {
        let rows = database.rows().await;
        rows.iter().filter(|row| row.status == Status::Sent).count() >= 25
    })
    .await;
    let row = database.row_when_ended(waiting.id).await;
    assert!(row.processed_at >= waiting.next_attempt_at, "{row:?}");
}

#[tokio::test]
async fn a_delayed_event_beside_another_handlers_work() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let delay = Duration::from_secs(3);
    let emitted = database
        .emit_with(&Asked { good: 1 }, |emit| emit.delay(delay))
        .await;
    survives_work_of_another_handler(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_retry_beside_another_handlers_work() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["due_times", "due_times_other"])
        .retry(Retry::default().initial_delay(Duration::from_secs(3)))
        .poll_interval(NEVER)
        .batch_size(2)
        .await
        .unwrap();
    let emitted = database.emit(&Asked { good: 2 }).await;
    let waiting = database
        .row_when(emitted.id, |row| row.retry_count == 1)
        .await;
    survives_work_of_another_handler(&database, &waiting).await;
    outbox.shutdown().await.unwrap();
}
