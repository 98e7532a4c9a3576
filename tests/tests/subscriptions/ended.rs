//! A subscription ends by an operator's word, and by nothing else.

use outbox::RawEvent;
use outbox::sqlx::query;
use outbox_tests::Database;

use crate::{NOTHING, emit, states, subscriptions};

#[outbox::handler(event = "ended.happened", name = "ended")]
async fn handle(_event: RawEvent) {}

#[tokio::test]
async fn one_that_was_ended_stays_so_while_its_handler_runs() {
    let database = Database::new().await;
    let start = || outbox::start(database.pool()).only(["ended"]);
    let outbox = start().await.unwrap();
    query("DELETE FROM outbox_handlers WHERE handler = 'ended'")
        .execute(&database.pool())
        .await
        .unwrap();
    // What notes that a handler runs is an UPDATE, and can't bring it back.
    let seen = include_str!("../../../outbox/src/sql/seen.sql");
    let noted = query(seen)
        .bind(["ended"].as_slice())
        .fetch_all(&database.pool())
        .await
        .unwrap();
    assert_eq!(noted.len(), 0);
    assert_eq!(subscriptions(&database).await, []);

    // A producer that does not link the handler writes it no record.
    emit(NOTHING, &database, "ended.happened").await;
    let rows = database.rows().await;
    assert_eq!(states(&rows), [(None, outbox::Status::Pending)]);

    // The next start is the handler's own word.
    outbox.shutdown().await.unwrap();
    let outbox = start().await.unwrap();
    outbox.drained().await.unwrap();
    let rows = database.rows().await;
    assert_eq!(states(&rows), [(Some("ended"), outbox::Status::Sent)]);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn one_whose_handler_is_gone_for_long_is_still_served() {
    let database = Database::new().await;
    query(
        "INSERT INTO outbox_handlers (handler, patterns, max_retries, last_seen_at)
         VALUES ('ended_elsewhere', '{ended.*}', 6, '2001-01-01')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    emit(NOTHING, &database, "ended.happened").await;
    let rows = database.rows().await;
    assert_eq!(
        states(&rows),
        [(Some("ended_elsewhere"), outbox::Status::Pending)]
    );
    assert_eq!(rows[0].max_retries, Some(6));
}
