//! B17, F3: events that end the process which runs their handler.

use std::process::Command;
use std::time::Duration;

use outbox::{OutboxRecord, Status};
use outbox_tests::{Database, Worker, eventually_within};

use crate::execute;

/// Starts workers, one after the other's end, until every record has ended: the rows, and how many
/// workers ended before.
async fn supervise(database: &Database, max_recoveries: u32) -> (Vec<OutboxRecord>, u32) {
    let mut ended = 0;
    loop {
        let mut worker = Worker::spawn_command(
            Command::new(env!("CARGO_BIN_EXE_worker"))
                .env("DATABASE_URL", database.url())
                .env("LEASE_MS", "1000")
                .env("MAX_RECOVERIES", max_recoveries.to_string()),
        );
        let rows = eventually_within(
            Duration::from_secs(60),
            "the worker ends or all is done",
            async || {
                if worker.has_ended() {
                    return Some(None);
                }
                let rows = database.rows().await;
                let done = rows.iter().all(|row| row.processed_at.is_some());
                done.then_some(Some(rows))
            },
        )
        .await;
        if let Some(rows) = rows {
            worker.terminate();
            worker.ended().await;
            return (rows, ended);
        }
        ended += 1;
        assert!(ended <= max_recoveries, "no more crashes than recoveries");
    }
}

async fn insert(database: &Database, act: &str, count: usize) {
    let sql = format!(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
         SELECT 'worker.told', 'worker', 5, '{{\"act\": \"{act}\"}}' FROM generate_series(1, {count})"
    );
    execute(database, &sql).await;
}

fn check(rows: &[OutboxRecord], lost: i32) {
    for row in rows {
        if row.payload["act"] == "abort" {
            let error = row.last_error.clone().unwrap_or_default();
            let why = format!("the lease was lost {lost} times in a row without a result");
            assert!(error.starts_with(&why), "{error}");
            assert_eq!((row.status, row.recovery_count), (Status::Failed, lost));
            assert_eq!(row.retry_count, 0);
            assert_eq!(row.failed_at, Some(row.updated_at));
        } else {
            assert_eq!((row.status, row.recovery_count), (Status::Sent, 0));
            assert_eq!((row.retry_count, &row.last_error), (0, &None));
        }
    }
}

#[tokio::test]
async fn b17_the_poisonous_one_fails_and_its_neighbours_are_delivered() {
    let database = Database::new().await;
    insert(&database, "slow", 31).await;
    insert(&database, "abort", 1).await;
    insert(&database, "slow", 32).await;
    let (rows, crashes) = supervise(&database, 10).await;
    assert_eq!((rows.len(), crashes), (64, 10));
    check(&rows, 10);
}

#[tokio::test]
async fn f3_an_aborting_handler_ends_as_failed_and_other_records_go_on() {
    let database = Database::new().await;
    insert(&database, "abort", 1).await;
    insert(&database, "quick", 5).await;
    let (rows, crashes) = supervise(&database, 3).await;
    assert_eq!((rows.len(), crashes), (6, 3));
    check(&rows, 3);
}
