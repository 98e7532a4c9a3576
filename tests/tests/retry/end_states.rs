//! What a record is in the end.

use std::time::Duration;

use outbox::{Admin, Context, Mutation, OutboxEvent, OutboxRecord, Retry, Status};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "end_states.asked")]
struct Asked {
    /// The first attempt that succeeds.
    good: i32,
}

#[outbox::handler(event = "end_states.asked", name = "end_states", max_retries = 3)]
async fn asked(event: Asked, context: Context) -> Result<(), String> {
    assert_eq!(
        context.is_last(),
        context.attempt() >= context.max_retries()
    );
    if context.attempt() >= event.good {
        return Ok(());
    }
    Err(format!("attempt {} failed", context.attempt()))
}

async fn start(database: &Database) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["end_states"])
        .retry(Retry::default().initial_delay(Duration::from_millis(5)))
        .await
        .unwrap()
}

fn sent(emitted: &OutboxRecord, row: &OutboxRecord) -> OutboxRecord {
    OutboxRecord {
        status: Status::Sent,
        next_attempt_at: row.next_attempt_at,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..emitted.clone()
    }
}

#[tokio::test]
async fn success_at_once() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let emitted = database.emit(&Asked { good: 1 }).await;
    let row = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();
    assert_eq!(row, sent(&emitted, &row));
    assert_eq!(row.next_attempt_at, emitted.next_attempt_at);
}

#[tokio::test]
async fn success_after_failures_keeps_the_last_error() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let emitted = database.emit(&Asked { good: 3 }).await;
    let row = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();
    let expected = OutboxRecord {
        retry_count: 2,
        last_error: Some("attempt 2 failed".to_owned()),
        ..sent(&emitted, &row)
    };
    assert_eq!(row, expected);
}

#[tokio::test]
async fn the_last_failure() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let emitted = database.emit(&Asked { good: 9 }).await;
    let row = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: 3,
        last_error: Some("attempt 3 failed".to_owned()),
        failed_at: Some(row.updated_at),
        ..sent(&emitted, &row)
    };
    assert_eq!(row, expected);
}

/// A settled attempt ends the count of lost leases, whichever way it went.
#[tokio::test]
async fn a_settled_attempt_forgets_lost_leases() {
    let database = Database::new().await;
    let emitted = [1, 9].map(|good| Asked { good });
    let good = database.emit(&emitted[0]).await;
    let bad = database.emit(&emitted[1]).await;
    sqlx::query("UPDATE outbox_events SET recovery_count = 1")
        .execute(&database.pool())
        .await
        .unwrap();
    let outbox = start(&database).await;
    for (emitted, status) in [(good, Status::Sent), (bad, Status::Failed)] {
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!((row.status, row.recovery_count), (status, 0));
    }
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_count_of_failures_saturates() {
    let database = Database::new().await;
    let mut ends = Vec::new();
    for (good, status) in [(i32::MAX, Status::Sent), (0, Status::Failed)] {
        // No attempt fails by its number alone: a payload that isn't an `Asked` does.
        let emitted = database.emit(&Asked { good }).await;
        let payload = if status == Status::Sent {
            format!("{{\"good\": {good}}}")
        } else {
            "7".to_owned()
        };
        sqlx::query(
            "UPDATE outbox_events SET retry_count = 2147483647, max_retries = 2147483647,
             payload = $2::jsonb WHERE id = $1",
        )
        .bind(emitted.id)
        .bind(payload)
        .execute(&database.pool())
        .await
        .unwrap();
        ends.push((emitted.id, status));
    }
    let outbox = start(&database).await;
    for (id, status) in ends {
        let row = database.row_when_ended(id).await;
        assert_eq!((row.status, row.retry_count), (status, i32::MAX), "{row:?}");
    }
    outbox.shutdown().await.unwrap();
}

/// An operator's retry beyond the limit is one attempt, and counts on.
#[tokio::test]
async fn a_retry_by_hand_passes_the_limit_by_one_attempt() {
    let database = Database::new().await;
    let outbox = start(&database).await;
    let emitted = database.emit(&Asked { good: 9 }).await;
    for failures in [3, 4, 5] {
        let row = database
            .row_when(emitted.id, |row| row.status == Status::Failed)
            .await;
        assert_eq!(row.retry_count, failures);
        assert_eq!(row.last_error, Some(format!("attempt {failures} failed")));
        let applied = Admin::operator(database.pool()).retry(emitted.id).await;
        assert_eq!(applied.unwrap(), Mutation::Applied);
    }
    outbox.shutdown().await.unwrap();
}
