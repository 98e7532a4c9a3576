//! C5: a delay of zero, and a handler that always fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox::{Backoff, OutboxEvent, Retry, State, Status};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "c5_no_delay.asked")]
struct Asked;

#[outbox::handler(event = "c5_no_delay.asked", name = "c5_no_delay", max_retries = 25)]
async fn asked(_: Asked, State(calls): State<Arc<AtomicU32>>) -> Result<(), &'static str> {
    calls.fetch_add(1, Ordering::Relaxed);
    Err("no")
}

#[tokio::test]
async fn c5_the_limit_ends_it_and_no_attempt_is_free() {
    let database = Database::new().await;
    database.log_statements().await;
    let mark = database.log_mark();
    let calls = Arc::new(AtomicU32::new(0));
    let retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::ZERO);
    // A pool of its own, whose connections are logged.
    let outbox = outbox::start(database.pool_with(|options| options))
        .only(["c5_no_delay"])
        .retry(retry)
        .poll_interval(Duration::from_hours(1))
        .state(Arc::clone(&calls))
        .await
        .unwrap();
    let emitted = database.emit(&Asked).await;
    let failed = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();

    assert_eq!((failed.status, failed.retry_count), (Status::Failed, 25));
    assert_eq!(calls.load(Ordering::Relaxed), 25);
    // Each attempt is a claim and a settle; a poller that spun between them would be seen here.
    let log = database.log_since(mark);
    let claims = log
        .iter()
        .filter(|line| line.contains("$9 the event types"))
        .count();
    assert!(
        (25..=150).contains(&claims),
        "{claims} claims for 25 attempts"
    );
}
