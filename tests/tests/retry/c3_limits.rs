//! C3: a limit of n is n attempts in all.

use std::time::Duration;

use outbox::{
    Backoff, EmitError, OutboxEvent, OutboxRecord, Retry, StartError, StartProblem, Status,
};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "c3_limits.asked")]
struct Asked;

#[outbox::handler(event = "c3_limits.asked", name = "c3_limits")]
async fn asked(_: Asked) -> Result<(), &'static str> {
    Err("no")
}

async fn fails_after(limit: i32) {
    let database = Database::new().await;
    database.keep_history().await;
    let retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::ZERO);
    let outbox = outbox::start(database.pool())
        .only(["c3_limits"])
        .retry(retry)
        .await
        .unwrap();
    let emitted = database
        .emit_with(&Asked, |emit| emit.max_retries(limit))
        .await;
    assert_eq!(emitted.max_retries, Some(limit));
    let failed = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();

    let at = failed.updated_at;
    let expected = OutboxRecord {
        status: Status::Failed,
        retry_count: limit,
        last_error: Some("no".to_owned()),
        next_attempt_at: failed.next_attempt_at,
        updated_at: at,
        processed_at: Some(at),
        failed_at: Some(at),
        ..emitted
    };
    assert_eq!(failed, expected);
    let history = database.history(failed.id).await;
    let claims = history
        .iter()
        .filter(|row| row.status == Status::Processing);
    assert_eq!(claims.count(), usize::try_from(limit).unwrap());
}

#[tokio::test]
async fn c3_one_attempt_in_all() {
    fails_after(1).await;
}

#[tokio::test]
async fn c3_three_attempts_in_all() {
    fails_after(3).await;
}

#[tokio::test]
async fn c3_the_largest_limit_is_one_more_try() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["c3_limits"])
        .retry(Retry::default().initial_delay(Duration::from_hours(1)))
        .await
        .unwrap();
    let emitted = database
        .emit_with(&Asked, |emit| emit.max_retries(i32::MAX))
        .await;
    let again = database
        .row_when(emitted.id, |row| row.retry_count == 1)
        .await;
    assert_eq!(
        (again.status, again.max_retries),
        (Status::Pending, Some(i32::MAX))
    );

    // Near the end of the numbers: the last attempt but one, and the last.
    sqlx::query("UPDATE outbox_events SET retry_count = 2147483645 WHERE id = $1")
        .bind(emitted.id)
        .execute(&database.pool())
        .await
        .unwrap();
    database.make_due(emitted.id).await;
    let again = database
        .row_when(emitted.id, |row| row.retry_count == i32::MAX - 1)
        .await;
    // Doubled two thousand million times, and still the cap.
    let delay = again.next_attempt_at.unwrap() - again.updated_at;
    assert_eq!(
        (again.status, delay.num_seconds()),
        (Status::Pending, 86_400)
    );
    let failed = database.row_when_hurried(emitted.id).await;
    assert_eq!(
        (failed.status, failed.retry_count),
        (Status::Failed, i32::MAX)
    );
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn c3_impossible_limits_are_refused_everywhere() {
    let database = Database::new().await;
    for limit in [0, -1, i32::MIN] {
        let mut tx = database.pool().begin().await.unwrap();
        let refused = outbox::emit(&mut tx, &Asked).max_retries(limit).await;
        assert!(
            matches!(refused, Err(EmitError::InvalidMaxRetries(got)) if got == limit),
            "{refused:?}"
        );
        // The transaction is usable, and nothing is in it.
        tx.commit().await.unwrap();

        let refused = outbox::start(database.pool())
            .only(["c3_limits"])
            .retry(Retry::default().max_retries(limit))
            .await
            .unwrap_err();
        let StartError::Refused(problems) = &refused else {
            panic!("{refused:?}");
        };
        let [StartProblem::Option(fault)] = problems.as_slice() else {
            panic!("{problems:?}");
        };
        assert_eq!(
            fault.to_string(),
            format!("expected `retry.max_retries` to be at least 1, got {limit}")
        );

        let refused = sqlx::query(
            "INSERT INTO outbox_events (event_type, payload, handler, max_retries)
             VALUES ('c3_limits.asked', 'null', 'c3_limits', $1)",
        )
        .bind(limit)
        .execute(&database.pool())
        .await
        .unwrap_err();
        let refused = refused.as_database_error().unwrap();
        assert_eq!(
            refused.constraint(),
            Some("outbox_events_max_retries_is_positive")
        );
    }
    assert_eq!(database.rows().await, []);
}
