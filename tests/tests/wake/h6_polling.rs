//! H6: without notifications, on either side, everything is found by polling.

use std::time::Duration;

use outbox::{Emitter, OutboxEvent};
use outbox_tests::Database;

use crate::delivered;

#[derive(OutboxEvent)]
#[outbox(event = "h6.asked")]
struct Asked;

#[outbox::handler(event = "h6.asked", name = "h6")]
async fn asked(_: Asked) {}

#[tokio::test]
async fn h6_a_runtime_that_does_not_listen_polls() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["h6"])
        .listen(false)
        .poll_interval(Duration::from_millis(50))
        .await
        .unwrap();
    for _ in 0..5 {
        let emitted = database.emit(&Asked).await;
        delivered(&database, &emitted).await;
    }
    let listening: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    )
    .fetch_one(&database.pool())
    .await
    .unwrap();
    assert_eq!(listening, 0);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn h6_an_emitter_that_does_not_notify_is_polled_for() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["h6"])
        .poll_interval(Duration::from_millis(50))
        .await
        .unwrap();
    let quiet = Emitter::builder().notify(false).build().unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    quiet.emit(&mut tx, &Asked).await.unwrap();
    let emitted = outbox_tests::rows(&mut *tx).await.unwrap().remove(0);
    tx.commit().await.unwrap();
    delivered(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}
