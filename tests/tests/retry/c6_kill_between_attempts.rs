//! C6: the process ends by SIGKILL between two attempts.

use outbox::{OutboxRecord, Status};

use crate::retrying;

#[tokio::test]
async fn c6_the_total_over_restarts_is_exact() {
    let database = retrying::database().await;
    let mut hour = retrying::command(&database);
    hour.env("INITIAL_DELAY_MS", "3600000");
    let mut worker = retrying::started(&mut hour).await;
    let emitted = retrying::emit(&database, 99).await;
    database
        .row_when(emitted.id, |row| row.retry_count == 1)
        .await;
    database.make_due(emitted.id).await;
    let before = database
        .row_when(emitted.id, |row| row.retry_count == 2)
        .await;
    worker.kill();

    // What the first process left is what the second finds.
    let mut worker = retrying::started(&mut hour).await;
    assert_eq!(database.row(emitted.id).await, before);
    database.make_due(emitted.id).await;
    database
        .row_when(emitted.id, |row| row.retry_count == 3)
        .await;
    worker.kill();

    let mut worker = retrying::started(&mut hour).await;
    let failed = database.row_when_hurried(emitted.id).await;
    worker.kill();
    let at = failed.updated_at;
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: 5,
        last_error: Some("attempt 5".to_owned()),
        next_attempt_at: failed.next_attempt_at,
        updated_at: at,
        processed_at: Some(at),
        failed_at: Some(at),
        ..emitted
    };
    assert_eq!(failed, expected);
    assert_eq!(
        retrying::attempts(&database, failed.id).await,
        [1, 2, 3, 4, 5]
    );
}
