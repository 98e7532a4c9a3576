//! A2: a transaction that commits long after its emit, and after other wakes.

use outbox::OutboxEvent;
use outbox_tests::Database;

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "a2.asked")]
struct Asked;

#[outbox::handler(event = "a2.asked", name = "a2")]
async fn asked(_: Asked) {}

#[tokio::test]
async fn a2_the_commit_wakes_whatever_came_before() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["a2"])
        .poll_interval(NEVER)
        .await
        .unwrap();
    let mut held = database.pool().begin().await.unwrap();
    outbox::emit(&mut held, &Asked).await.unwrap();
    let emitted = outbox_tests::rows(&mut *held).await.unwrap().remove(0);
    // More than enough wakes, and a poller that has gone past the held event's place.
    for _ in 0..20 {
        let other = database.emit(&Asked).await;
        let row = delivered(&database, &other).await;
        assert!(row.updated_at > emitted.created_at);
    }
    held.commit().await.unwrap();
    delivered(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}
