//! A handler's own retry settings, completed by the runtime's.

use std::time::Duration;

use outbox::{Backoff, Retry, StartError, StartProblem};
use outbox_tests::Database;

use crate::problems;

#[derive(outbox::OutboxEvent)]
#[outbox(event = "policies.happened")]
struct Happened {}

#[outbox::handler(name = "policies_slow", initial_delay = "10s")]
async fn slow(_event: Happened) {}

#[outbox::handler(name = "policies_capped", max_delay = "500ms")]
async fn capped(_event: Happened) {}

#[outbox::handler(name = "policies_fixed", backoff = "fixed", initial_delay = "10s")]
async fn fixed(_event: Happened) {}

#[tokio::test]
async fn what_only_together_makes_no_policy_is_refused_by_handler_and_place() {
    let database = Database::new().await;
    let retry = Retry::default()
        .initial_delay(Duration::from_secs(1))
        .max_delay(Duration::from_secs(2));
    let names = ["policies_slow", "policies_capped", "policies_fixed"];
    let start = outbox::start(database.pool()).only(names).retry(retry);

    let error = start.await.unwrap_err();
    let StartError::Refused(problems) = &error else {
        panic!("{error:?}");
    };
    let found: Vec<_> = problems
        .iter()
        .map(|problem| match problem {
            StartProblem::Policy {
                handler,
                place,
                fault,
            } => {
                assert!(place.file.ends_with("policies.rs"), "{place}");
                (*handler, fault.option(), fault.value(), fault.expected())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let option = "retry.initial_delay";
    let expected = [
        (
            "policies_capped",
            option,
            "1000 ms",
            "at most `retry.max_delay`, 500 ms",
        ),
        (
            "policies_slow",
            option,
            "10000 ms",
            "at most `retry.max_delay`, 2000 ms",
        ),
    ];
    assert_eq!(found, expected);
    // Fixed delays know no cap.
    let start = outbox::start(database.pool())
        .only(["policies_fixed"])
        .retry(retry);
    start.await.unwrap().shutdown().await.unwrap();
}

#[tokio::test]
async fn the_runtimes_own_fault_is_reported_once() {
    let database = Database::new().await;
    let retry = Retry::default()
        .initial_delay(Duration::from_secs(2))
        .max_delay(Duration::from_secs(1));
    let start = outbox::start(database.pool())
        .only(["policies_slow", "policies_capped"])
        .retry(retry);
    let expected =
        "expected `retry.initial_delay` to be at most `retry.max_delay`, 1000 ms, got 2000 ms";
    assert_eq!(problems(start).await, [expected]);
}

#[tokio::test]
async fn handlers_tells_the_completed_policy() {
    let database = Database::new().await;
    let retry = Retry::default()
        .backoff(Backoff::Exponential)
        .initial_delay(Duration::from_millis(20))
        .max_delay(Duration::from_mins(1));
    let outbox = outbox::start(database.pool())
        .only(["policies_slow", "policies_capped", "policies_fixed"])
        .retry(retry)
        .await
        .unwrap();
    let told: Vec<_> = outbox
        .handlers()
        .iter()
        .map(|info| {
            (
                info.name,
                info.backoff,
                info.initial_delay.as_millis(),
                info.max_delay.as_millis(),
            )
        })
        .collect();
    let expected = [
        ("policies_capped", Backoff::Exponential, 20, 500),
        ("policies_fixed", Backoff::Fixed, 10_000, 60_000),
        ("policies_slow", Backoff::Exponential, 10_000, 60_000),
    ];
    assert_eq!(told, expected);
    outbox.shutdown().await.unwrap();
}
