//! Records that are claimed and wait for a slot are renewed like running ones.

use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Stage, all_sent, emit, lease};

#[derive(OutboxEvent)]
#[outbox(event = "queued_rows.told")]
struct Told {
    waits: bool,
}

#[outbox::handler(event = "queued_rows.told", name = "queued_rows")]
async fn told(event: Told, State(stage): State<Stage>) {
    if event.waits {
        stage.begin();
        stage.pass().await;
    }
}

fn claimed(rows: &[OutboxRecord]) -> impl Iterator<Item = &OutboxRecord> {
    rows.iter().filter(|row| row.status == Status::Processing)
}

#[tokio::test]
async fn a_queued_record_keeps_its_claim() {
    let database = Database::new().await;
    let stage = Stage::new();
    let outbox = outbox::start(database.pool())
        .only(["queued_rows"])
        .concurrency(1)
        .lease(
            lease(60_000)
                .heartbeat_interval(Duration::from_millis(200))
                .heartbeat_failure_tolerance(200),
        )
        .state(stage.clone())
        .await
        .unwrap();
    // Some quick ones, so that the runtime expects quick ones.
    let quick = |count| (0..count).map(|_| Told { waits: false });
    emit(&database, &quick(50).collect::<Vec<_>>()).await;
    all_sent(&database).await;

    outbox.pause();
    let told: Vec<Told> = std::iter::once(Told { waits: true })
        .chain(quick(50))
        .collect();
    emit(&database, &told).await;
    outbox.resume();
    stage.begins(1).await;
    let queued = database.rows().await;
    assert!(claimed(&queued).count() > 1, "some are queued: {queued:?}");
    for before in claimed(&queued) {
        eventually("it is renewed", async || {
            let rows = database.rows().await;
            let row = rows.into_iter().find(|row| row.id == before.id).unwrap();
            let renewed = row.lease_expires_at > before.lease_expires_at;
            let same = row.claim_token == before.claim_token;
            if renewed && same { Ok(()) } else { Err(row) }
        })
        .await;
    }
    stage.open(1);
    for row in all_sent(&database).await {
        assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    }
    outbox.shutdown().await.unwrap();
    assert_eq!(stage.begun(), 1);
}
