//! What a runtime makes of a record, column by column.

use std::time::Duration;

use outbox::chrono::TimeDelta;
use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Runs, emit};

#[derive(OutboxEvent)]
#[outbox(event = "transitions.told")]
struct Told {
    fails: bool,
    hangs: bool,
}

#[outbox::handler(
    event = "transitions.told",
    name = "transitions",
    max_retries = 2,
    backoff = "fixed",
    initial_delay = "1500ms"
)]
async fn told(event: Told, State(runs): State<Runs>) -> Result<(), String> {
    runs.add();
    if event.hangs {
        std::future::pending::<()>().await;
    }
    if event.fails {
        return Err("as told".to_owned());
    }
    Ok(())
}

async fn started(database: &Database, runs: &Runs) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["transitions"])
        .shutdown_timeout(Duration::ZERO)
        .state(runs.clone())
        .await
        .unwrap()
}

/// The only record, emitted as told and not yet claimed.
async fn emitted(database: &Database, fails: bool, hangs: bool) -> OutboxRecord {
    emit(database, &[Told { fails, hangs }]).await;
    only(database).await
}

async fn only(database: &Database) -> OutboxRecord {
    let [row] = database.rows().await.try_into().unwrap();
    row
}

async fn in_status(database: &Database, status: Status) -> OutboxRecord {
    eventually(format!("the record is {status}"), async || {
        let row = only(database).await;
        if row.status == status {
            Ok(row)
        } else {
            Err(row)
        }
    })
    .await
}

#[tokio::test]
async fn delivered_then_sent() {
    let database = Database::new().await;
    let pending = emitted(&database, false, false).await;
    let outbox = started(&database, &Runs::default()).await;
    let row = in_status(&database, Status::Sent).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..pending
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn failed_then_tried_again_then_failed_for_good() {
    let database = Database::new().await;
    let pending = emitted(&database, true, false).await;
    let outbox = started(&database, &Runs::default()).await;
    let first = eventually("one attempt has failed", async || {
        let row = only(&database).await;
        (row.retry_count == 1 && row.status == Status::Pending).then_some(row)
    })
    .await;
    let expected = OutboxRecord {
        retry_count: 1,
        last_error: Some("as told".to_owned()),
        updated_at: first.updated_at,
        next_attempt_at: Some(first.updated_at + TimeDelta::milliseconds(1_500)),
        ..pending
    };
    assert_eq!(first, expected);

    let second = in_status(&database, Status::Failed).await;
    assert!(second.processed_at >= first.next_attempt_at);
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: 2,
        updated_at: second.updated_at,
        processed_at: Some(second.updated_at),
        failed_at: Some(second.updated_at),
        ..first
    };
    assert_eq!(second, expected);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn claimed_then_released_at_shutdown() {
    let database = Database::new().await;
    let pending = emitted(&database, false, true).await;
    let runs = Runs::default();
    let outbox = started(&database, &runs).await;
    runs.reach(1).await;
    let claimed = only(&database).await;
    let lease = claimed.lease_expires_at.unwrap() - claimed.updated_at;
    assert!(
        (299_000..301_000).contains(&lease.num_milliseconds()),
        "{lease}"
    );
    let expected = OutboxRecord {
        status: Status::Processing,
        updated_at: claimed.updated_at,
        claim_token: claimed.claim_token,
        lease_expires_at: claimed.lease_expires_at,
        claimed_by: claimed.claimed_by.clone(),
        ..pending.clone()
    };
    assert_eq!(claimed, expected);
    let worker = claimed.claimed_by.unwrap();
    assert!(
        worker.contains(&format!(":{}:", std::process::id())),
        "{worker}"
    );

    outbox.shutdown().await.unwrap();
    let released = only(&database).await;
    let expected = OutboxRecord {
        next_attempt_at: Some(released.updated_at),
        updated_at: released.updated_at,
        ..pending
    };
    assert_eq!(released, expected);
    assert!(released.updated_at > claimed.updated_at);
}

#[tokio::test]
async fn expired_then_recovered_and_delivered() {
    let database = Database::new().await;
    let pending = emitted(&database, false, false).await;
    crate::execute(
        &database,
        "UPDATE outbox_events SET status = 'PROCESSING', claim_token = gen_random_uuid(), claimed_by = 'dead',
           lease_expires_at = now() - interval '1 s', recovery_count = 1, retry_count = 1",
    )
    .await;
    let outbox = started(&database, &Runs::default()).await;
    let row = in_status(&database, Status::Sent).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        retry_count: 1,
        next_attempt_at: row.next_attempt_at,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..pending
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn expired_for_the_last_time_then_failed() {
    let database = Database::new().await;
    let pending = emitted(&database, false, false).await;
    crate::execute(
        &database,
        "UPDATE outbox_events SET status = 'PROCESSING', claim_token = gen_random_uuid(), claimed_by = 'dead',
           lease_expires_at = now() - interval '1 s', recovery_count = 9, retry_count = 1",
    )
    .await;
    let runs = Runs::default();
    let outbox = started(&database, &runs).await;
    let row = in_status(&database, Status::Failed).await;
    let error = row.last_error.clone().unwrap();
    assert!(
        error.starts_with("the lease was lost 10 times in a row"),
        "{error}"
    );
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: 1,
        recovery_count: 10,
        last_error: Some(error),
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        failed_at: Some(row.updated_at),
        ..pending
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!(runs.count(), 0);
}
