//! A flood for one handler leaves slots to the others.

use std::time::Duration;

use outbox::OutboxEvent;
use outbox_tests::Database;

use crate::{emit, execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "fairness.flood")]
struct Flood {}

#[derive(OutboxEvent)]
#[outbox(event = "fairness.trickle")]
struct Trickle {}

#[outbox::handler(event = "fairness.flood", name = "fairness_flood")]
async fn flood(_: Flood) {
    tokio::time::sleep(Duration::from_millis(30)).await;
}

#[outbox::handler(event = "fairness.trickle", name = "fairness_trickle")]
async fn trickle(_: Trickle) {}

#[tokio::test]
async fn a_flood_for_one_handler_does_not_starve_another() {
    let database = Database::new().await;
    let floods: Vec<Flood> = (0..500).map(|_| Flood {}).collect();
    emit(&database, &floods).await;
    let foreign =
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, next_attempt_at)
        SELECT 'fairness.trickle', 'somebody', 5, '{}', '2026-01-01' FROM generate_series(1, 100)";
    execute(&database, foreign).await;
    let theirs = async || {
        let rows = database.rows().await;
        let rows = rows.into_iter();
        let rows = rows.filter(|row| row.handler.as_deref() == Some("somebody"));
        rows.collect::<Vec<_>>()
    };
    let before = theirs().await;
    let outbox = outbox::start(database.pool())
        .only(["fairness_flood", "fairness_trickle"])
        .concurrency(4)
        .await
        .unwrap();
    for _ in 0..5 {
        emit(&database, &[Trickle {}]).await;
    }
    outbox.drained().await.unwrap();
    assert_eq!(theirs().await, before, "what others run is left alone");
    execute(
        &database,
        "DELETE FROM outbox_events WHERE handler = 'somebody'",
    )
    .await;

    let rows = sent(&database, 505).await;
    let (flood, trickle): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|row| row.handler.as_deref() == Some("fairness_flood"));
    for row in trickle {
        // It came when hundreds were due before it; few of them were delivered before it.
        let overtook = |other: &&&outbox::OutboxRecord| {
            other.processed_at > Some(row.created_at) && other.processed_at < row.processed_at
        };
        let first = flood.iter().filter(overtook).count();
        assert!(first < 100, "{first} before it");
    }
    outbox.shutdown().await.unwrap();
}
