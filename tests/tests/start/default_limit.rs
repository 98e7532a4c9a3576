//! `retry.max_retries` of a runtime is the default of the process's emits while it runs.

use outbox::{Outbox, RawEvent, Retry, serde_json::json};
use outbox_tests::Database;

use crate::{EXPLICIT_LIMIT, emit, problems};

#[outbox::handler(event = "default_limit.happened", name = "default_limit")]
async fn handle(_event: RawEvent) {}

async fn start(database: &Database, max_retries: i32) -> Outbox {
    outbox::start(database.pool())
        .only(["default_limit"])
        .retry(Retry::default().max_retries(max_retries))
        .await
        .unwrap()
}

/// The limit that a record gets now.
async fn limit(database: &Database) -> i32 {
    let event = RawEvent::new("default_limit.happened", &json!({}));
    let id = emit(&database.pool(), &event).await;
    let rows = database.rows().await;
    let row = rows.iter().find(|row| row.event_id == id).unwrap();
    row.max_retries.unwrap()
}

#[tokio::test]
async fn runtimes_that_disagree_are_refused_until_the_other_is_stopped() {
    let _explicit = EXPLICIT_LIMIT.lock().await;
    let (here, there) = (Database::new().await, Database::new().await);
    assert_eq!(limit(&here).await, 5);

    let eight = start(&here, 8).await;
    assert_eq!(limit(&here).await, 8);
    let nine = || {
        outbox::start(there.pool())
            .only(["default_limit"])
            .retry(Retry::default().max_retries(9))
    };
    let expected = "`retry.max_retries` is 9, but a running runtime of this process has set 8, and both are the default of `outbox::emit`; set one value, or emit with `Emitter::builder()`";
    assert_eq!(problems(nine()).await, [expected]);
    assert_eq!(limit(&here).await, 8);

    // The same value, and none, agree with it.
    let same = start(&there, 8).await;
    let silent = outbox::start(there.pool())
        .only(["default_limit"])
        .await
        .unwrap();
    eight.shutdown().await.unwrap();
    assert_eq!(problems(nine()).await, [expected]);
    same.shutdown().await.unwrap();
    assert_eq!(limit(&here).await, 5);

    let nine = nine().await.unwrap();
    assert_eq!(limit(&here).await, 9);
    nine.shutdown().await.unwrap();
    assert_eq!(limit(&here).await, 5);
    silent.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_start_that_is_refused_or_dropped_leaves_no_default_behind() {
    let _explicit = EXPLICIT_LIMIT.lock().await;
    let (database, empty) = (Database::new().await, Database::empty().await);
    let eight = Retry::default().max_retries(8);
    let start = |database: &Database| {
        outbox::start(database.pool())
            .only(["default_limit"])
            .retry(eight)
    };
    start(&empty).await.unwrap_err();
    assert_eq!(limit(&database).await, 5);

    let starting = tokio::spawn(start(&database).into_future());
    tokio::task::yield_now().await;
    starting.abort();
    // Aborted before it was done, or started all the same.
    if let Ok(started) = starting.await {
        started.unwrap().shutdown().await.unwrap();
    }
    assert_eq!(limit(&database).await, 5);
}
