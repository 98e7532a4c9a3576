//! Time that really passes: no attempt comes before it is due, and each comes by itself.

use std::time::Duration;

use outbox::chrono::{DateTime, Utc};
use outbox::sqlx::PgPool;
use outbox::{Backoff, Context, OutboxEvent, RecordId, Retry, Status};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "real_time.tried")]
struct Tried;

/// Notes each attempt with PostgreSQL's time, and fails.
#[outbox::handler(event = "real_time.tried", name = "real_time")]
async fn tried(_: Tried, context: Context, pool: PgPool) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO attempts VALUES ($1, $2, clock_timestamp())")
        .bind(context.record_id())
        .bind(context.attempt())
        .execute(&pool)
        .await?;
    anyhow::bail!("attempt {} of {}", context.attempt(), context.max_retries())
}

async fn attempts(database: &Database, id: RecordId) -> Vec<(i32, DateTime<Utc>)> {
    sqlx::query_as("SELECT attempt, at FROM attempts WHERE record = $1 ORDER BY at")
        .bind(id)
        .fetch_all(&database.pool())
        .await
        .unwrap()
}

async fn no_attempt_is_early(retry: Retry) {
    let database = Database::new().await;
    database.keep_history().await;
    sqlx::query("CREATE TABLE attempts (record uuid, attempt int, at timestamptz)")
        .execute(&database.pool())
        .await
        .unwrap();
    // Polling explains nothing here: it would look again in an hour.
    let outbox = outbox::start(database.pool())
        .only(["real_time"])
        .retry(retry)
        .poll_interval(Duration::from_hours(1))
        .await
        .unwrap();
    let emitted = database.emit(&Tried).await;
    let failed = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();

    assert_eq!(
        (
            failed.status,
            failed.retry_count,
            failed.last_error.as_deref()
        ),
        (Status::Failed, 5, Some("attempt 5 of 5"))
    );
    let attempts = attempts(&database, emitted.id).await;
    let numbers: Vec<i32> = attempts.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let history = database.history(emitted.id).await;
    let pending = history.iter().filter(|row| row.status == Status::Pending);
    for (waiting, (attempt, at)) in pending.zip(&attempts) {
        assert!(
            Some(*at) >= waiting.next_attempt_at,
            "attempt {attempt} was early"
        );
    }
}

#[tokio::test]
async fn exponential_attempts_are_never_early() {
    no_attempt_is_early(Retry::default().initial_delay(Duration::from_millis(50))).await;
}

#[tokio::test]
async fn fixed_attempts_are_never_early() {
    let retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::from_millis(150));
    no_attempt_is_early(retry).await;
}
