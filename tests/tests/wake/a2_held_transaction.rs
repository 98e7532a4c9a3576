//! A2: a transaction that commits long after its emit, and after other wakes.

use outbox::{OutboxEvent, RawEvent};
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

#[outbox::handler(event = "a2.first", name = "a2_first")]
async fn first(_: RawEvent) {}

#[outbox::handler(event = "a2.second", name = "a2_second")]
async fn second(_: RawEvent) {}

#[outbox::handler(event = "a2.third", name = "a2_third")]
async fn third(_: RawEvent) {}

/// One slot for three handlers: the look behind the poller's position reaches each of them.
#[tokio::test]
async fn a2_with_fewer_slots_than_handlers() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["a2_first", "a2_second", "a2_third"])
        .concurrency(1)
        .poll_interval(NEVER)
        .await
        .unwrap();
    let event = |which| RawEvent::from_text(format!("a2.{which}"), "{}");
    for _ in 0..3 {
        for which in ["first", "second", "third"] {
            let mut held = database.pool().begin().await.unwrap();
            let id = outbox::emit(&mut held, &event(which)).await.unwrap();
            let mut rows = outbox_tests::rows(&mut *held).await.unwrap().into_iter();
            let emitted = rows.find(|row| row.event_id == id).unwrap();
            for other in ["first", "second", "third"] {
                let other = database.emit(&event(other)).await;
                delivered(&database, &other).await;
            }
            held.commit().await.unwrap();
            delivered(&database, &emitted).await;
        }
    }
    outbox.shutdown().await.unwrap();
}
