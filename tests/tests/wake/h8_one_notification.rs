//! H8: ten thousand events and a payload of a mebibyte in one transaction.

use std::time::Duration;

use outbox::OutboxEvent;
use outbox_tests::{Database, eventually_within};
use sqlx::postgres::PgListener;

use crate::NEVER;

#[derive(OutboxEvent)]
#[outbox(event = "h8.asked")]
struct Asked(String);

#[outbox::handler(event = "h8.asked", name = "h8")]
async fn asked(_: Asked) {}

#[tokio::test]
async fn h8_one_small_notification_and_all_are_delivered() {
    let database = Database::new().await;
    let mut listener = PgListener::connect(database.url()).await.unwrap();
    listener.listen("outbox_events").await.unwrap();
    let outbox = outbox::start(database.pool())
        .only(["h8"])
        .poll_interval(NEVER)
        .await
        .unwrap();

    let mut tx = database.pool().begin().await.unwrap();
    let events: Vec<Asked> = (0..9_900).map(|n| Asked(n.to_string())).collect();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    for n in 0..99 {
        outbox::emit(&mut tx, &Asked(n.to_string())).await.unwrap();
    }
    // With its quotes exactly the limit.
    outbox::emit(&mut tx, &Asked("x".repeat(1024 * 1024 - 2)))
        .await
        .unwrap();
    tx.commit().await.unwrap();

    let open = "SELECT count(*) FROM outbox_events WHERE processed_at IS NULL";
    eventually_within(Duration::from_mins(3), "all are delivered", async || {
        let open: i64 = sqlx::query_scalar(open)
            .fetch_one(&database.pool())
            .await
            .unwrap();
        if open == 0 { Ok(()) } else { Err(open) }
    })
    .await;
    let sent: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM outbox_events WHERE status = 'SENT' AND retry_count = 0",
    )
    .fetch_one(&database.pool())
    .await
    .unwrap();
    assert_eq!(sent, 10_000);
    outbox.shutdown().await.unwrap();

    // What comes last says that nothing else is under way.
    sqlx::query("SELECT pg_notify('outbox_events', 'the end')")
        .execute(&database.pool())
        .await
        .unwrap();
    let mut payloads = Vec::new();
    while payloads.last().is_none_or(|last| last != "the end") {
        let notification = listener.recv().await.unwrap();
        payloads.push(notification.payload().to_owned());
    }
    assert_eq!(payloads, ["", "the end"]);
}
