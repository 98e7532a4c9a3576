//! The delay after each failed attempt, as it is stored: `next_attempt_at` - `updated_at`.

use std::time::Duration;

use outbox::chrono::TimeDelta;
use outbox::{Backoff, OutboxEvent, OutboxRecord, RecordId, Retry, Start, Status};
use outbox_tests::Database;

/// The delays in ms that the history of a record tells, one for each attempt that is tried again.
async fn delays(database: &Database, id: RecordId) -> Vec<i64> {
    let history = database.history(id).await;
    let states = history.windows(2);
    let failures = states
        .filter(|pair| pair[0].status == Status::Processing && pair[1].status == Status::Pending);
    failures.map(|pair| delay(&pair[1])).collect()
}

/// Exact to the microsecond, as the column is.
fn delay(row: &OutboxRecord) -> i64 {
    let delay = row.next_attempt_at.unwrap() - row.updated_at;
    assert_eq!(
        delay,
        TimeDelta::milliseconds(delay.num_milliseconds()),
        "whole ms"
    );
    delay.num_milliseconds()
}

/// Runs `handler` on `event` until it has failed for good, and returns the stored delays.
async fn delays_of<E: OutboxEvent>(
    handler: &str,
    event: &E,
    settings: impl FnOnce(Start) -> Start,
) -> Vec<i64> {
    let database = Database::new().await;
    database.keep_history().await;
    let outbox = settings(outbox::start(database.pool()).only([handler]))
        .await
        .unwrap();
    let emitted = database.emit(event).await;
    let failed = database.row_when_hurried(emitted.id).await;
    assert_eq!(failed.status, Status::Failed);
    outbox.shutdown().await.unwrap();
    delays(&database, emitted.id).await
}

#[derive(OutboxEvent)]
#[outbox(event = "delays.plain")]
struct Plain;

#[outbox::handler(event = "delays.plain", name = "delays_plain")]
async fn plain(_: Plain) -> Result<(), &'static str> {
    Err("no")
}

#[derive(OutboxEvent)]
#[outbox(event = "delays.ten", max_retries = 10)]
struct Ten;

#[outbox::handler(event = "delays.ten", name = "delays_ten")]
async fn ten(_: Ten) -> Result<(), &'static str> {
    Err("no")
}

#[tokio::test]
async fn exponential_is_the_default_and_doubles_from_one_second() {
    let delays = delays_of("delays_plain", &Plain, |start| start).await;
    assert_eq!(delays, [1_000, 2_000, 4_000, 8_000]);
}

/// Every state that five failed attempts give a record, whole.
#[tokio::test]
async fn each_failure_changes_what_it_must_and_no_more() {
    let database = Database::new().await;
    database.keep_history().await;
    let outbox = outbox::start(database.pool())
        .only(["delays_plain"])
        .await
        .unwrap();
    let emitted = database
        .emit_with(&Plain, |emit| {
            emit.tenant("acme")
                .header("source", "api")
                .aggregate("order", 7)
        })
        .await;
    database.row_when_hurried(emitted.id).await;
    outbox.shutdown().await.unwrap();

    let history = database.history(emitted.id).await;
    assert_eq!(
        history.len(),
        11,
        "written, and claimed and settled five times"
    );
    assert_eq!(history[0], emitted);
    for (attempt, pair) in (1..).zip(history[1..].chunks(2)) {
        let [claimed, settled] = pair else {
            unreachable!("an odd number")
        };
        let before = OutboxRecord {
            retry_count: attempt - 1,
            last_error: (attempt > 1).then(|| "no".to_owned()),
            next_attempt_at: claimed.next_attempt_at,
            ..emitted.clone()
        };
        let expected = OutboxRecord {
            status: Status::Processing,
            claim_token: claimed.claim_token,
            lease_expires_at: claimed.lease_expires_at,
            claimed_by: claimed.claimed_by.clone(),
            updated_at: claimed.updated_at,
            ..before.clone()
        };
        assert_eq!(*claimed, expected);
        let at = settled.updated_at;
        assert!(claimed.updated_at <= at);
        let last = attempt == 5;
        let delay = TimeDelta::seconds(1 << (attempt - 1));
        let expected = OutboxRecord {
            status: if last {
                Status::Failed
            } else {
                Status::Pending
            },
            retry_count: attempt,
            last_error: Some("no".to_owned()),
            next_attempt_at: if last {
                before.next_attempt_at
            } else {
                Some(at + delay)
            },
            updated_at: at,
            processed_at: last.then_some(at),
            failed_at: last.then_some(at),
            ..before
        };
        assert_eq!(*settled, expected, "attempt {attempt}");
    }
}

#[tokio::test]
async fn fixed_is_the_initial_delay_every_time() {
    let retry = Retry::default().backoff(Backoff::Fixed);
    let delays = delays_of("delays_plain", &Plain, |start| start.retry(retry)).await;
    assert_eq!(delays, [1_000; 4]);
}

#[tokio::test]
async fn the_cap_ends_the_doubling() {
    let retry = Retry::default()
        .initial_delay(Duration::from_secs(1))
        .max_delay(Duration::from_secs(5));
    let delays = delays_of("delays_ten", &Ten, |start| start.retry(retry)).await;
    assert_eq!(
        delays,
        [
            1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000
        ]
    );
}

#[tokio::test]
async fn the_largest_bound_is_stored_to_the_millisecond() {
    let retry = Retry::default()
        .initial_delay(Duration::from_hours(24))
        .max_delay(outbox::MAX_DURATION);
    let delays = delays_of("delays_ten", &Ten, |start| start.retry(retry)).await;
    let day = 86_400_000;
    assert_eq!(delays[..5], [day, 2 * day, 4 * day, 8 * day, 16 * day]);
    assert_eq!(delays[5..], [2_147_483_647; 4]);
}

/// A day is 24 hours also where a session's clocks change in it.
#[tokio::test]
async fn a_change_of_clocks_does_not_stretch_a_delay() {
    let database = Database::new().await;
    database.keep_history().await;
    let pool = database.pool_with(|options| {
        options.after_connect(|connection, _| {
            Box::pin(async move {
                sqlx::query("SET TIME ZONE 'Europe/Berlin'")
                    .execute(connection)
                    .await?;
                Ok(())
            })
        })
    });
    let retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(outbox::MAX_DURATION);
    let outbox = outbox::start(pool)
        .only(["delays_ten"])
        .retry(retry)
        .await
        .unwrap();
    let emitted = database.emit_with(&Ten, |emit| emit.max_retries(2)).await;
    database.row_when_hurried(emitted.id).await;
    outbox.shutdown().await.unwrap();
    assert_eq!(delays(&database, emitted.id).await, [2_147_483_647]);
}

#[tokio::test]
async fn jitter_takes_off_at_most_its_part() {
    let retry = Retry::default()
        .initial_delay(Duration::from_secs(1_000))
        .jitter(0.25);
    let delays = delays_of("delays_ten", &Ten, |start| start.retry(retry)).await;
    for (doublings, delay) in delays.iter().enumerate() {
        let whole = (1_000_000_i64 << doublings).min(86_400_000);
        assert!((whole * 3 / 4..=whole).contains(delay), "{delays:?}");
    }
    // Nine draws, none of which took anything off: one in 10^50.
    assert!(delays.iter().any(|delay| delay % 1_000 != 0), "{delays:?}");
}

#[derive(OutboxEvent)]
#[outbox(event = "delays.own")]
struct Own;

#[outbox::handler(
    event = "delays.own",
    name = "delays_own",
    max_retries = 4,
    backoff = "fixed",
    initial_delay = "250ms"
)]
async fn own(_: Own) -> Result<(), &'static str> {
    Err("no")
}

#[tokio::test]
async fn the_handlers_own_settings_come_first() {
    let retry = Retry::default()
        .backoff(Backoff::Exponential)
        .initial_delay(Duration::from_mins(1));
    let delays = delays_of("delays_own", &Own, |start| start.retry(retry)).await;
    assert_eq!(delays, [250; 3]);
}

#[derive(OutboxEvent)]
#[outbox(event = "delays.mixed")]
struct Mixed;

#[outbox::handler(event = "delays.mixed", name = "delays_mixed", initial_delay = 300)]
async fn mixed(_: Mixed) -> Result<(), &'static str> {
    Err("no")
}

#[tokio::test]
async fn the_runtime_fills_the_gaps_of_a_handlers_settings() {
    let retry = Retry::default()
        .initial_delay(Duration::from_millis(1))
        .max_delay(Duration::from_secs(1));
    let delays = delays_of("delays_mixed", &Mixed, |start| start.retry(retry)).await;
    assert_eq!(delays, [300, 600, 1_000, 1_000]);
}
