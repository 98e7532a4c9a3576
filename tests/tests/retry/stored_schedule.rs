//! Two runtimes with different settings on one table: whoever stored a schedule, it stands.

use std::time::Duration;

use outbox::chrono::TimeDelta;
use outbox::{Backoff, OutboxEvent, OutboxRecord, Retry, Status};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "stored_schedule.asked")]
struct Asked {
    /// Whether the handler can do it.
    possible: bool,
}

#[outbox::handler(event = "stored_schedule.asked", name = "stored_schedule")]
async fn asked(event: Asked) -> Result<(), &'static str> {
    if event.possible { Ok(()) } else { Err("no") }
}

fn every(delay: Duration) -> Retry {
    Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(delay)
}

#[tokio::test]
async fn a_stored_schedule_is_not_computed_anew() {
    let database = Database::new().await;
    let slow = outbox::start(database.pool())
        .only(["stored_schedule"])
        .retry(every(Duration::from_hours(1)))
        .await
        .unwrap();
    let emitted = database.emit(&Asked { possible: false }).await;
    let put_off = database
        .row_when(emitted.id, |row| row.retry_count == 1)
        .await;
    slow.shutdown().await.unwrap();

    let hasty = outbox::start(database.pool())
        .only(["stored_schedule"])
        .retry(every(Duration::from_millis(1)))
        .poll_interval(Duration::from_millis(10))
        .await
        .unwrap();
    // The hasty one looks at the table: it delivers what is due.
    for _ in 0..3 {
        let other = database.emit(&Asked { possible: true }).await;
        assert_eq!(database.row_when_ended(other.id).await.status, Status::Sent);
    }
    let expected = OutboxRecord {
        retry_count: 1,
        last_error: Some("no".to_owned()),
        updated_at: put_off.updated_at,
        next_attempt_at: Some(put_off.updated_at + TimeDelta::hours(1)),
        ..emitted.clone()
    };
    assert_eq!(put_off, expected);
    assert_eq!(database.row(emitted.id).await, expected);

    // Its own failures it schedules itself.
    let failed = database.row_when_hurried(emitted.id).await;
    assert_eq!((failed.status, failed.retry_count), (Status::Failed, 5));
    hasty.shutdown().await.unwrap();
}

#[tokio::test]
async fn both_at_once_leave_the_limit_exact() {
    let database = Database::new().await;
    database.keep_history().await;
    let mut runtimes = Vec::new();
    for delay in [1, 7] {
        let started = outbox::start(database.pool())
            .only(["stored_schedule"])
            .retry(every(Duration::from_millis(delay)))
            .poll_interval(Duration::from_millis(5))
            .await;
        runtimes.push(started.unwrap());
    }
    let mut emitted = Vec::new();
    for _ in 0..20 {
        emitted.push(database.emit(&Asked { possible: false }).await.id);
    }
    for id in emitted {
        let failed = database.row_when_ended(id).await;
        assert_eq!((failed.status, failed.retry_count), (Status::Failed, 5));
        let history = database.history(id).await;
        // Claimed and settled by turns, whoever did it.
        let statuses: Vec<Status> = history.iter().map(|row| row.status).collect();
        let again = [Status::Pending, Status::Processing].repeat(5);
        assert_eq!(statuses, [again, vec![Status::Failed]].concat());
        for row in history
            .iter()
            .filter(|row| row.status == Status::Pending)
            .skip(1)
        {
            let delay = row.next_attempt_at.unwrap() - row.updated_at;
            assert!([1, 7].contains(&delay.num_milliseconds()), "{row:?}");
        }
    }
    for outbox in runtimes {
        outbox.shutdown().await.unwrap();
    }
}
