//! A10: a transaction that emitted first rolls back; the one beside it commits later.

use outbox::OutboxEvent;
use outbox_tests::Database;

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "a10.asked")]
struct Asked;

#[outbox::handler(event = "a10.asked", name = "a10")]
async fn asked(_: Asked) {}

#[tokio::test]
async fn a10_a_rolled_back_emit_takes_no_wake_with_it() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["a10"])
        .poll_interval(NEVER)
        .await
        .unwrap();
    for _ in 0..10 {
        let mut first = database.pool().begin().await.unwrap();
        outbox::emit(&mut first, &Asked).await.unwrap();
        let mut second = database.pool().begin().await.unwrap();
        let id = outbox::emit(&mut second, &Asked).await.unwrap();
        let mut rows = outbox_tests::rows(&mut *second).await.unwrap().into_iter();
        let emitted = rows.find(|row| row.event_id == id).unwrap();
        first.rollback().await.unwrap();
        second.commit().await.unwrap();
        delivered(&database, &emitted).await;
    }
    outbox.shutdown().await.unwrap();
    assert_eq!(database.rows().await.len(), 10);
}
