//! Records that were claimed ahead of their start.

use std::time::Duration;

use outbox::{OutboxEvent, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Gate, assert_given_back, emit, record};

#[derive(OutboxEvent)]
#[outbox(event = "unstarted.happened")]
struct Happened {
    stop: bool,
}

#[outbox::handler(name = "unstarted")]
async fn handle(event: Happened, gate: State<Gate>) {
    if event.stop {
        gate.pass().await;
    }
}

#[tokio::test]
async fn they_are_given_back_while_others_still_run() {
    let database = Database::new().await;
    let pool = database.pool();
    let gate = Gate::closed();
    let outbox = outbox::start(pool.clone())
        .only(["unstarted"])
        .concurrency(1)
        .shutdown_timeout(Duration::from_hours(1))
        .state(gate.clone())
        .await
        .unwrap();
    // So fast that some are claimed ahead.
    for _ in 0..20 {
        emit(&pool, &Happened { stop: false }).await;
    }
    outbox.drained().await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    let stop: Vec<Happened> = (0..50).map(|_| Happened { stop: true }).collect();
    let ids = outbox::emit_many(&mut tx, &stop).await.unwrap();
    tx.commit().await.unwrap();
    let mut before = Vec::new();
    for id in &ids {
        before.push(record(&database, *id).await);
    }
    gate.arrivals(1).await;
    eventually("some are claimed ahead", async || {
        let rows = database.rows().await;
        rows.iter()
            .filter(|row| row.status == Status::Processing)
            .count()
            > 1
    })
    .await;

    let shutdown = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.shutdown().await }
    });
    eventually("only the one that runs is claimed", async || {
        let rows = database.rows().await;
        rows.iter()
            .filter(|row| row.status == Status::Processing)
            .count()
            == 1
    })
    .await;
    assert!(!shutdown.is_finished());
    gate.let_through(1);
    shutdown.await.unwrap().unwrap();

    let mut sent = 0;
    for (id, before) in ids.into_iter().zip(before) {
        let row = record(&database, id).await;
        if row.status == Status::Sent {
            sent += 1;
        } else if row.updated_at == before.updated_at || before.status != Status::Pending {
            assert_eq!((row.status, row.retry_count), (Status::Pending, 0));
        } else {
            assert_given_back(&row, &before);
        }
    }
    assert_eq!((sent, gate.arrived()), (1, 1));
}
