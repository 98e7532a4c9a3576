//! K2: an operator's retry wakes the poller.

use outbox::{Admin, Context, Mutation, OutboxEvent, OutboxRecord, Status};
use outbox_tests::Database;

use crate::{NEVER, sent};

#[derive(OutboxEvent)]
#[outbox(event = "k2.asked")]
struct Asked;

#[outbox::handler(event = "k2.asked", name = "k2", max_retries = 1)]
async fn asked(_: Asked, context: Context) -> Result<(), &'static str> {
    if context.attempt() == 1 {
        Err("no")
    } else {
        Ok(())
    }
}

#[tokio::test]
async fn k2_the_poller_is_woken_by_a_retry() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["k2"])
        .poll_interval(NEVER)
        .await
        .unwrap();
    let emitted = database.emit(&Asked).await;
    let failed = database.row_when_ended(emitted.id).await;
    assert_eq!(failed.status, Status::Failed);
    // The poller is beyond its place.
    let other = database.emit_with(&Asked, |emit| emit.max_retries(1)).await;
    database.row_when_ended(other.id).await;

    let applied = Admin::operator(database.pool()).retry(emitted.id).await;
    assert_eq!(applied.unwrap(), Mutation::Applied);
    let row = database
        .row_when(emitted.id, |row| row.status == Status::Sent)
        .await;
    assert!(row.next_attempt_at > failed.failed_at);
    let expected = OutboxRecord {
        retry_count: 1,
        next_attempt_at: row.next_attempt_at,
        ..sent(&emitted, &row)
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
}
