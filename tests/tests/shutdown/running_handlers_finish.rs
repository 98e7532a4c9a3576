//! Shutdown gives running handlers their time, and claims nothing more.

use std::time::Duration;

use outbox::{Context, OutboxEvent, State, Status};
use outbox_tests::Database;

use crate::{Gate, emit, record, record_is};

#[derive(OutboxEvent)]
#[outbox(event = "running.happened")]
struct Happened {}

#[outbox::handler(name = "running")]
async fn run(_event: Happened, gate: State<Gate>) {
    gate.pass().await;
}

#[derive(OutboxEvent)]
#[outbox(event = "running.long")]
struct Long {}

/// Stops when it is asked to.
#[outbox::handler(name = "running_long")]
async fn until_cancelled(_event: Long, context: Context, gate: State<Gate>) {
    gate.0
        .0
        .arrived
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    context.cancelled().await;
}

#[derive(OutboxEvent)]
#[outbox(event = "running.failed")]
struct Fails {}

#[outbox::handler(
    name = "running_fails",
    max_retries = 2,
    backoff = "fixed",
    initial_delay = "1ms"
)]
async fn fail(_event: Fails, gate: State<Gate>) -> Result<(), &'static str> {
    gate.pass().await;
    Err("no luck")
}

#[derive(OutboxEvent)]
#[outbox(event = "running.beside")]
struct Beside {}

#[outbox::handler(name = "running_beside")]
async fn beside(_event: Beside) {}

#[tokio::test]
async fn they_finish_and_are_sent_while_nothing_new_is_claimed() {
    let database = Database::new().await;
    let pool = database.pool();
    let gate = Gate::closed();
    let outbox = outbox::start(pool.clone())
        .only(["running", "running_fails"])
        .state(gate.clone())
        .await
        .unwrap();
    let other = outbox::start(pool.clone())
        .only(["running_beside"])
        .await
        .unwrap();
    let running = [
        emit(&pool, &Happened {}).await,
        emit(&pool, &Happened {}).await,
    ];
    let failing = emit(&pool, &Fails {}).await;
    gate.arrivals(3).await;

    let shutdown = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.shutdown().await }
    });
    // A runtime that drains says so at once.
    let drained = outbox.drained().await;
    assert!(drained.is_err() || shutdown.is_finished());
    let late = emit(&pool, &Happened {}).await;
    let unclaimed = record(&database, late).await;
    // Another runtime's claim and settle take longer than a claim that was under way.
    record_is(&database, emit(&pool, &Beside {}).await, Status::Sent).await;
    assert!(!shutdown.is_finished());

    gate.let_through(3);
    shutdown.await.unwrap().unwrap();
    for id in running {
        let row = record(&database, id).await;
        assert_eq!(
            (row.status, row.retry_count, &row.last_error),
            (Status::Sent, 0, &None)
        );
        assert_eq!(row.processed_at, Some(row.updated_at));
    }
    // A failure counts, and its retry is for another node.
    let row = record(&database, failing).await;
    assert_eq!((row.status, row.retry_count), (Status::Pending, 1));
    assert_eq!(row.last_error.as_deref(), Some("no luck"));

    // Nothing was claimed since, though it was due, and was notified.
    record_is(&database, emit(&pool, &Beside {}).await, Status::Sent).await;
    assert_eq!(record(&database, late).await, unclaimed);
    assert_eq!(gate.arrived(), 3);
    other.shutdown().await.unwrap();
}

#[tokio::test]
async fn cancelled_fires_when_shutdown_begins() {
    let database = Database::new().await;
    let pool = database.pool();
    let gate = Gate::closed();
    let outbox = outbox::start(pool.clone())
        .only(["running_long"])
        .shutdown_timeout(Duration::from_hours(1))
        .state(gate.clone())
        .await
        .unwrap();
    let id = emit(&pool, &Long {}).await;
    gate.arrivals(1).await;

    outbox.shutdown().await.unwrap();
    let row = record(&database, id).await;
    assert_eq!((row.status, row.retry_count), (Status::Sent, 0));
}
