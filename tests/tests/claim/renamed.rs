//! Records whose handler has another name by now, or takes other events.

use outbox::{OutboxEvent, OutboxRecord, Status};
use outbox_tests::{Database, eventually};

use crate::{execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "renamed.told")]
struct Told {}

#[outbox::handler(
    event = "renamed.told",
    name = "renamed",
    alias = "renamed_before",
    max_retries = 1
)]
async fn told(_: Told) {}

async fn start(database: &Database) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["renamed"])
        .await
        .unwrap()
}

#[tokio::test]
async fn e12_a_record_under_a_former_name_is_delivered() {
    let database = Database::new().await;
    let sql = "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
        VALUES ('renamed.told', 'renamed_before', 4, '{}')";
    execute(&database, sql).await;
    let [before] = database.rows().await.try_into().unwrap();
    let outbox = start(&database).await;
    let [row] = sent(&database, 1).await.try_into().unwrap();
    let expected = OutboxRecord {
        status: Status::Sent,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..before
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_record_of_a_type_that_its_handler_no_longer_takes_fails_and_says_so() {
    let database = Database::new().await;
    let sql = "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
        VALUES ('renamed.untold', 'renamed', 1, '{}')";
    execute(&database, sql).await;
    let [before] = database.rows().await.try_into().unwrap();
    let outbox = start(&database).await;
    let row = eventually("it has failed", async || {
        let [row] = database.rows().await.try_into().unwrap();
        let row: OutboxRecord = row;
        (row.status == Status::Failed).then_some(row)
    })
    .await;
    let error = "the handler `renamed` no longer takes events of the type `renamed.untold`; it takes `renamed.told`";
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: 1,
        last_error: Some(error.to_owned()),
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        failed_at: Some(row.updated_at),
        ..before
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
}
