//! D5: delays with parts of a millisecond, and delays too long for any.

use std::time::Duration;

use outbox::chrono::TimeDelta;
use outbox::{
    Backoff, EmitError, OutboxEvent, OutboxRecord, Retry, StartError, StartProblem, Status,
};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "d5_fractions.asked")]
struct Asked;

#[outbox::handler(event = "d5_fractions.asked", name = "d5_fractions")]
async fn asked(_: Asked) -> Result<(), &'static str> {
    Err("no")
}

#[tokio::test]
async fn d5_a_part_of_a_millisecond_is_stored_as_a_whole_one() {
    let hour = Duration::from_hours(1);
    for (initial, stored) in [
        (Duration::from_nanos(1), 1),
        (Duration::new(0, 999_999), 1),
        (hour + Duration::from_nanos(1), 3_600_001),
        (outbox::MAX_DURATION, 2_147_483_647),
    ] {
        let database = Database::new().await;
        database.keep_history().await;
        let retry = Retry::default()
            .backoff(Backoff::Fixed)
            .initial_delay(initial);
        let outbox = outbox::start(database.pool())
            .only(["d5_fractions"])
            .retry(retry)
            .await
            .unwrap();
        let emitted = database.emit_with(&Asked, |emit| emit.max_retries(2)).await;
        let failed = database.row_when_hurried(emitted.id).await;
        outbox.shutdown().await.unwrap();
        assert_eq!((failed.status, failed.retry_count), (Status::Failed, 2));

        let history = database.history(emitted.id).await;
        let at = history[2].updated_at;
        let expected = OutboxRecord {
            retry_count: 1,
            last_error: Some("no".to_owned()),
            next_attempt_at: Some(at + TimeDelta::milliseconds(stored)),
            updated_at: at,
            ..emitted
        };
        assert_eq!(history[2], expected, "{initial:?}");
    }
}

#[tokio::test]
async fn d5_a_delayed_event_is_rounded_up_too() {
    let database = Database::new().await;
    let delay = Duration::new(3_600, 1);
    let emitted = database.emit_with(&Asked, |emit| emit.delay(delay)).await;
    let due = emitted.created_at + TimeDelta::milliseconds(3_600_001);
    assert_eq!(emitted.next_attempt_at, Some(due));
}

#[tokio::test]
async fn d5_too_long_is_refused_before_anything_happens() {
    let database = Database::new().await;
    let beyond = outbox::MAX_DURATION + Duration::from_nanos(1);
    for delay in [beyond, Duration::MAX] {
        for (option, retry) in [
            (
                "retry.initial_delay",
                Retry::default()
                    .backoff(Backoff::Fixed)
                    .initial_delay(delay),
            ),
            ("retry.max_delay", Retry::default().max_delay(delay)),
        ] {
            let refused = outbox::start(database.pool())
                .only(["d5_fractions"])
                .retry(retry)
                .await
                .unwrap_err();
            let StartError::Refused(problems) = &refused else {
                panic!("{refused:?}");
            };
            let [StartProblem::Option(fault)] = problems.as_slice() else {
                panic!("{problems:?}");
            };
            assert_eq!(
                (fault.option(), fault.expected()),
                (option, "at most 2147483647 ms")
            );
        }
    }
    let mut tx = database.pool().begin().await.unwrap();
    let refused = outbox::emit(&mut tx, &Asked).delay(Duration::MAX).await;
    assert!(
        matches!(refused, Err(EmitError::DelayTooLong(Duration::MAX))),
        "{refused:?}"
    );
    outbox::emit(&mut tx, &Asked).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(database.rows().await.len(), 1);
}
