//! An attempt beyond its handler's timeout.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox::{OutboxEvent, State};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "timeouts.asked", max_retries = 2)]
enum Asked {
    Hangs,
    HangsAndPanics,
    Returns,
}

/// Counts the attempts that were dropped.
struct Dropped(Arc<AtomicU32>, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(!self.1, "dropped");
    }
}

#[outbox::handler(event = "timeouts.asked", name = "timeouts", timeout = "60ms")]
async fn asked(event: Asked, State(dropped): State<Arc<AtomicU32>>) {
    let panics = matches!(event, Asked::HangsAndPanics);
    if !matches!(event, Asked::Returns) {
        let _dropped = Dropped(dropped, panics);
        std::future::pending::<()>().await;
    }
}

#[tokio::test]
async fn the_attempt_fails_with_a_text_that_says_so_and_is_dropped() {
    let database = Database::new().await;
    let dropped = Arc::new(AtomicU32::new(0));
    let outbox = outbox::start(database.pool())
        .only(["timeouts"])
        .concurrency(1)
        .retry(crate::at_once())
        .state(Arc::clone(&dropped))
        .await
        .unwrap();
    for event in [Asked::Hangs, Asked::HangsAndPanics] {
        let emitted = database.emit(&event).await;
        let row = database.row_when_ended(emitted.id).await;
        let text = "the handler ran longer than its timeout of 60ms";
        assert_eq!(row, crate::failed(&emitted, text, &row));
        assert_eq!(dropped.swap(0, Ordering::Relaxed), 2);

        let emitted = database.emit(&Asked::Returns).await;
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!(row, crate::sent(&emitted, &row));
    }
    outbox.shutdown().await.unwrap();
}

#[derive(OutboxEvent)]
#[outbox(event = "timeouts.blocked", max_retries = 1)]
struct Blocked;

/// Looks late at the clock, but returns: what it did is done.
#[outbox::handler(event = "timeouts.blocked", name = "timeouts_blocked", timeout = "1ms")]
async fn blocked(_: Blocked) {
    std::thread::sleep(Duration::from_millis(20));
}

#[tokio::test]
async fn a_result_that_is_there_counts() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["timeouts_blocked"])
        .await
        .unwrap();
    let emitted = database.emit(&Blocked).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(row, crate::sent(&emitted, &row));
    outbox.shutdown().await.unwrap();
}
