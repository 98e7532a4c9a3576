//! How many statements a runtime sends.

use std::time::Duration;

use outbox::{Outbox, OutboxEvent, State};
use outbox_tests::{Database, LogMark};

use crate::{Runs, emit};

#[derive(OutboxEvent)]
#[outbox(event = "statements.told")]
struct Told {}

#[outbox::handler(event = "statements.told", name = "statements")]
async fn told(_: Told, State(runs): State<Runs>) {
    runs.add();
}

async fn start(database: &Database, runs: &Runs) -> Outbox {
    database.log_statements().await;
    outbox::start(database.pool())
        .only(["statements"])
        .state(runs.clone())
        .await
        .unwrap()
}

/// Every statement that the database has got since `mark`.
fn statements(database: &Database, mark: LogMark) -> Vec<String> {
    let mut log = database.log_since(mark);
    log.retain(|entry| entry.contains("LOG:  execute ") || entry.contains("LOG:  statement: "));
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_records_take_at_most_thirty_statements() {
    let database = Database::new().await;
    let runs = Runs::default();
    let outbox = start(&database, &runs).await;
    // The runtime knows how quick its handler is, and has its connections.
    emit(&database, &[Told {}]).await;
    runs.reach(1).await;
    outbox.drained().await.unwrap();

    outbox.pause();
    let told: Vec<Told> = (0..1_000).map(|_| Told {}).collect();
    emit(&database, &told).await;
    let mark = database.log_mark();
    outbox.resume();
    // The test itself asks nothing meanwhile.
    runs.reach(1_001).await;
    outbox.shutdown().await.unwrap();
    let sent = statements(&database, mark);
    let open = database.rows().await;
    assert!(open.iter().all(|row| row.processed_at.is_some()));
    assert!(sent.len() <= 30, "{}: {sent:#?}", sent.len());
    // None of them writes for a single row: claims and settles go in batches.
    let updates = |entry: &&String| entry.contains("-- Writes the results");
    assert!(sent.iter().filter(updates).count() <= 20);
}

#[tokio::test]
async fn ten_idle_seconds_take_at_most_twenty_statements() {
    let database = Database::new().await;
    let outbox = start(&database, &Runs::default()).await;
    outbox.drained().await.unwrap();
    let mark = database.log_mark();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let sent = statements(&database, mark);
    assert!(sent.len() <= 20, "{}: {sent:#?}", sent.len());
    assert!(!sent.is_empty(), "statements are seen");
    outbox.shutdown().await.unwrap();
}
