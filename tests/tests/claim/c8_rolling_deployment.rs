//! C8, C9: an old version knows one handler, a new one two.

use std::time::Duration;

use outbox::{OutboxEvent, State, Status};
use outbox_tests::{Database, Logged, eventually};

use crate::{Runs, emit, execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "c8_rolling_deployment.told")]
struct Told {}

#[outbox::handler(event = "c8_rolling_deployment.told", name = "c8_old")]
async fn old(_: Told) {}

#[outbox::handler(event = "c8_rolling_deployment.told", name = "c8_new")]
async fn new(_: Told, State(runs): State<Runs>) {
    runs.add();
}

async fn start(database: &Database, handlers: &[&str], runs: &Runs) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(handlers.iter().copied())
        .poll_interval(Duration::from_millis(50))
        .state(runs.clone())
        .await
        .unwrap()
}

#[tokio::test]
async fn c8_a_record_of_the_new_handler_waits_for_who_runs_it() {
    let database = Database::new().await;
    let runs = Runs::default();
    let old = start(&database, &["c8_old"], &runs).await;
    let new = start(&database, &["c8_old", "c8_new"], &runs).await;
    emit(&database, &[Told {}]).await;
    sent(&database, 2).await;
    new.shutdown().await.unwrap();

    // Only the old version is left.
    emit(&database, &[Told {}]).await;
    let of_new = async |status| {
        let rows = database.rows().await;
        let mut rows = rows
            .into_iter()
            .filter(|row| row.handler.as_deref() == Some("c8_new"));
        rows.find(|row| row.status == status)
    };
    let waits = of_new(Status::Pending).await.unwrap();
    for _ in 0..3 {
        emit(&database, &[Told {}]).await;
    }
    eventually("the old handler's are delivered", async || {
        let rows = database.rows().await;
        let old = rows
            .iter()
            .filter(|row| row.handler.as_deref() == Some("c8_old"));
        old.clone().count() == 5 && old.clone().all(|row| row.status == Status::Sent)
    })
    .await;
    assert_eq!(of_new(Status::Pending).await, Some(waits));
    assert_eq!(runs.count(), 1);

    let new = start(&database, &["c8_new"], &runs).await;
    let rows = sent(&database, 10).await;
    assert!(rows.iter().all(|row| row.retry_count == 0));
    for node in [old, new] {
        node.shutdown().await.unwrap();
    }
    assert_eq!(runs.count(), 5);
}

#[tokio::test]
async fn c9_the_old_version_alone_counts_it_as_unhandled_and_leaves_it_alone() {
    let database = Database::new().await;
    let runs = Runs::default();
    let logged = Logged::here();
    let new = start(&database, &["c8_new"], &runs).await;
    new.shutdown().await.unwrap();
    execute(
        &database,
        "UPDATE outbox_handlers SET last_seen_at = now() - interval '25 hours'",
    )
    .await;
    emit(&database, &[Told {}, Told {}]).await;
    let of_new = async || {
        let rows = database.rows().await;
        let rows = rows.into_iter();
        let rows = rows.filter(|row| row.handler.as_deref() == Some("c8_new"));
        rows.collect::<Vec<_>>()
    };
    let before = of_new().await;
    assert_eq!(before.len(), 2);

    let old = start(&database, &["c8_old"], &runs).await;
    eventually("they are counted", async || {
        let counted = logged.with("2 records wait for a handler");
        let counted = counted.iter().any(|entry| entry.contains("handler=c8_new"));
        if counted {
            Ok(())
        } else {
            Err(logged.with(""))
        }
    })
    .await;
    eventually("the old handler's are delivered", async || {
        let rows = database.rows().await;
        rows.iter().filter(|row| row.status == Status::Sent).count() == 2
    })
    .await;
    old.shutdown().await.unwrap();
    assert_eq!(of_new().await, before);
}
