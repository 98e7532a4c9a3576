//! Every option at both ends of its range, and beyond.

use std::time::Duration;

use outbox::{Backoff, Lease, MAX_DURATION, Retry, Start, StartError};
use outbox_tests::Database;

use crate::{EXPLICIT_LIMIT, problems};

#[derive(outbox::OutboxEvent)]
#[outbox(event = "options.happened")]
struct Happened {}

#[outbox::handler(name = "options")]
async fn handle(_event: Happened) {}

const MS: Duration = Duration::from_millis(1);

fn start(database: &Database) -> Start {
    outbox::start(database.pool()).only(["options"])
}

#[tokio::test]
async fn both_ends_of_every_range_start() {
    let _explicit = EXPLICIT_LIMIT.lock().await;
    let database = Database::new().await;
    let smallest = start(&database)
        .poll_interval(MS)
        .batch_size(1)
        .concurrency(1)
        .retry(
            Retry::default()
                .max_retries(1)
                .backoff(Backoff::Exponential)
                .initial_delay(Duration::ZERO)
                .max_delay(Duration::ZERO)
                .jitter(0.0),
        )
        .lease(
            Lease::default()
                .duration(10 * MS)
                .heartbeat_interval(Duration::from_nanos(1))
                .heartbeat_failure_tolerance(0),
        )
        .max_recoveries(1)
        .shutdown_timeout(Duration::ZERO)
        .cancel_grace(Duration::ZERO)
        .listen(false)
        .channel("a")
        .log_errors(true);
    smallest.await.unwrap().shutdown().await.unwrap();

    let largest = start(&database)
        .poll_interval(MAX_DURATION)
        .batch_size(10_000)
        .concurrency(10_000)
        .retry(
            Retry::default()
                .max_retries(i32::MAX)
                .backoff(Backoff::Exponential)
                .initial_delay(MAX_DURATION)
                .max_delay(MAX_DURATION)
                .jitter(1.0),
        )
        .lease(
            Lease::default()
                .duration(MAX_DURATION)
                .heartbeat_interval((MAX_DURATION / 2).saturating_sub(MS))
                .heartbeat_failure_tolerance(1),
        )
        .max_recoveries(i32::MAX)
        .shutdown_timeout(MAX_DURATION)
        .cancel_grace(MAX_DURATION)
        .connect_timeout(MAX_DURATION)
        .channel("c".repeat(63));
    largest.await.unwrap().shutdown().await.unwrap();

    let without = start(&database).max_recoveries(None);
    without.await.unwrap().shutdown().await.unwrap();
}

#[tokio::test]
async fn no_time_to_connect_is_an_error_and_no_hang() {
    let database = Database::new().await;
    let refused = start(&database).connect_timeout(Duration::ZERO).await;
    assert!(
        matches!(refused, Err(StartError::Unreachable(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn h9_beyond_its_range_an_option_is_refused_by_name_value_and_range() {
    let database = Database::new().await;
    let beyond = MAX_DURATION + MS;
    let cases: [(Start, &str); 15] = [
        (
            start(&database).poll_interval(Duration::from_nanos(999_999)),
            "expected `poll_interval` to be at least 1 ms, got 999.999µs",
        ),
        (
            start(&database).poll_interval(Duration::ZERO),
            "expected `poll_interval` to be at least 1 ms, got 0 ms",
        ),
        (
            start(&database).poll_interval(beyond),
            "expected `poll_interval` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).batch_size(0),
            "expected `batch_size` to be at least 1, got 0",
        ),
        (
            start(&database).batch_size(10_001),
            "expected `batch_size` to be at most 10000, got 10001",
        ),
        (
            start(&database).concurrency(0),
            "expected `concurrency` to be at least 1, got 0",
        ),
        (
            start(&database).concurrency(usize::MAX),
            "expected `concurrency` to be at most 10000, got 18446744073709551615",
        ),
        (
            start(&database).max_recoveries(0),
            "expected `max_recoveries` to be at least 1, got 0",
        ),
        (
            start(&database).max_recoveries(-1),
            "expected `max_recoveries` to be at least 1, got -1",
        ),
        (
            start(&database).shutdown_timeout(beyond),
            "expected `shutdown_timeout` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).cancel_grace(beyond),
            "expected `cancel_grace` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).connect_timeout(beyond),
            "expected `connect_timeout` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).channel("c".repeat(64)),
            "expected `channel` to be a channel name: the channel's name has 64 bytes; at most 63 are allowed",
        ),
        (
            start(&database).channel("Jobs"),
            "expected `channel` to be a channel name: the channel's name `Jobs` has the upper-case letter `J`; write it in lower case",
        ),
        (
            start(&database).channel("a\"; DROP TABLE outbox_events; --"),
            "expected `channel` to be a channel name: the channel's name \"a\\\"; DROP TABLE outbox_events; --\" has the character '\"'; expected `a` to `z`, `0` to `9`, `_` or `$`",
        ),
    ];
    all_refused(&database, cases).await;
}

#[tokio::test]
async fn beyond_their_ranges_retries_and_leases_are_refused_likewise() {
    let database = Database::new().await;
    let beyond = MAX_DURATION + MS;
    let retry = Retry::default;
    let lease = Lease::default;
    let cases: [(Start, &str); 13] = [
        (
            start(&database).retry(retry().max_retries(0)),
            "expected `retry.max_retries` to be at least 1, got 0",
        ),
        (
            start(&database).retry(retry().max_retries(i32::MIN)),
            "expected `retry.max_retries` to be at least 1, got -2147483648",
        ),
        (
            start(&database).retry(retry().initial_delay(beyond).backoff(Backoff::Fixed)),
            "expected `retry.initial_delay` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).retry(retry().max_delay(beyond)),
            "expected `retry.max_delay` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).retry(retry().initial_delay(2 * MS).max_delay(MS)),
            "expected `retry.initial_delay` to be at most `retry.max_delay`, 1 ms, got 2 ms",
        ),
        (
            start(&database).retry(retry().jitter(-0.1)),
            "expected `retry.jitter` to be 0 to 1, got -0.1",
        ),
        (
            start(&database).retry(retry().jitter(1.5)),
            "expected `retry.jitter` to be 0 to 1, got 1.5",
        ),
        (
            start(&database).retry(retry().jitter(f64::NAN)),
            "expected `retry.jitter` to be 0 to 1, got NaN",
        ),
        (
            start(&database).lease(lease().duration(9 * MS)),
            "expected `lease.duration` to be at least 10 ms, got 9 ms",
        ),
        (
            start(&database).lease(lease().duration(beyond)),
            "expected `lease.duration` to be at most 2147483647 ms, got 2147483648 ms",
        ),
        (
            start(&database).lease(lease().heartbeat_interval(Duration::ZERO)),
            "expected `lease.heartbeat_interval` to be positive, got 0 ms",
        ),
        (
            start(&database).lease(lease().heartbeat_interval(Duration::from_secs(150))),
            "expected `lease.heartbeat_interval` to be less than half of `lease.duration`, 150000 ms, got 150000 ms",
        ),
        (
            start(&database).lease(lease().heartbeat_failure_tolerance(4)),
            "expected `lease.heartbeat_failure_tolerance` to be such that `heartbeat_interval` × (tolerance + 1) is less than `lease.duration`: with an interval of 60000 ms and a duration of 300000 ms, at most 3, got 4",
        ),
    ];
    all_refused(&database, cases).await;
}

/// Each is refused for its one problem, and nothing is written.
async fn all_refused<'a>(database: &Database, cases: impl IntoIterator<Item = (Start, &'a str)>) {
    for (start, expected) in cases {
        assert_eq!(problems(start).await, [expected]);
    }
    let subscriptions: i64 = outbox::sqlx::query_scalar("SELECT count(*) FROM outbox_handlers")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!(subscriptions, 0);
}

#[tokio::test]
async fn durations_of_ages_overflow_nothing() {
    let database = Database::new().await;
    let start = start(&database)
        .poll_interval(Duration::MAX)
        .lease(
            Lease::default()
                .duration(Duration::MAX)
                .heartbeat_interval(Duration::MAX)
                .heartbeat_failure_tolerance(u32::MAX),
        )
        .connect_timeout(Duration::MAX)
        .shutdown_timeout(Duration::MAX);
    let problems = problems(start).await;
    for option in [
        "poll_interval",
        "lease.duration",
        "lease.heartbeat_interval",
        "connect_timeout",
        "shutdown_timeout",
    ] {
        let expected = format!("expected `{option}` to be ");
        let found = problems
            .iter()
            .any(|problem| problem.starts_with(&expected));
        assert!(found, "{option}: {problems:#?}");
    }
}

#[tokio::test]
#[allow(deprecated, reason = "it is the alias that is tested")]
async fn stuck_threshold_is_the_lease_duration() {
    let database = Database::new().await;
    let start = start(&database).lease(Lease::default().stuck_threshold(MS));
    let expected = "expected `lease.duration` to be at least 10 ms, got 1 ms";
    assert_eq!(problems(start).await, [expected]);
}
