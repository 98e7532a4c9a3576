//! Producers that know nothing but SQL.

use std::time::Duration;

use outbox::{Context, OutboxEvent, OutboxRecord, Status};
use outbox_tests::Database;

use crate::{execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "plain_sql.told", max_retries = 7)]
struct Told {
    n: i32,
}

#[outbox::handler(event = "plain_sql.told", name = "plain_sql")]
async fn told(event: Told, context: Context) -> Result<(), String> {
    let fits = event.n == 7 && context.max_retries() == 7;
    fits.then_some(()).ok_or_else(|| format!("{context:?}"))
}

async fn start(database: &Database, poll_interval: Duration) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["plain_sql"])
        .poll_interval(poll_interval)
        .await
        .unwrap()
}

/// The row as the consumer's binding and delivery leave it.
async fn delivered(database: &Database) {
    let [row] = sent(database, 1).await.try_into().unwrap();
    let expected = OutboxRecord {
        handler: Some("plain_sql".to_owned()),
        max_retries: Some(7),
        status: Status::Sent,
        retry_count: 0,
        last_error: None,
        next_attempt_at: Some(row.created_at),
        processed_at: Some(row.updated_at),
        ..row.clone()
    };
    assert_eq!(row, expected);
}

#[tokio::test]
async fn an_insert_is_delivered_within_the_poll_interval() {
    let database = Database::new().await;
    let outbox = start(&database, Duration::from_millis(100)).await;
    let sql =
        "INSERT INTO outbox_events (event_type, payload) VALUES ('plain_sql.told', '{\"n\": 7}')";
    execute(&database, sql).await;
    delivered(&database).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_notification_with_it_wakes_the_poller_at_once() {
    let database = Database::new().await;
    let outbox = start(&database, Duration::from_mins(5)).await;
    // The first claim has gone by when this one is delivered.
    let sql =
        "INSERT INTO outbox_events (event_type, payload) VALUES ('plain_sql.told', '{\"n\": 7}');
        SELECT pg_notify('outbox_events', '')";
    execute(&database, sql).await;
    delivered(&database).await;
    execute(&database, "DELETE FROM outbox_events").await;
    execute(&database, sql).await;
    delivered(&database).await;
    outbox.shutdown().await.unwrap();
}

/// Its place in the order of the claim's index is the first that there can be.
#[tokio::test]
async fn the_least_id_at_the_least_time_is_delivered() {
    let database = Database::new().await;
    let sql = "INSERT INTO outbox_events (id, event_type, payload, next_attempt_at, created_at)
        SELECT '00000000-0000-0000-0000-000000000000', 'plain_sql.told', '{\"n\": 7}', t, t
        FROM (SELECT timestamptz '0001-01-01 00:00:00+00') x (t)";
    execute(&database, sql).await;
    let outbox = start(&database, Duration::from_millis(100)).await;
    delivered(&database).await;
    outbox.shutdown().await.unwrap();
}
