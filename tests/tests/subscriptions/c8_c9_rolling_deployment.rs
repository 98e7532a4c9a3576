//! Two versions of a service: what only the new one handles waits for it.

use outbox::Status::{Pending, Sent};
use outbox_tests::{Database, Logged};

use crate::{AUDIT, NEW, OLD, emit, records_are, run, stop};

/// In the test's own process, so that it starts and its warnings are seen.
#[outbox::handler(event = "rolling.unrelated", name = "rolling")]
async fn unrelated(_event: outbox::RawEvent) {}

#[tokio::test]
async fn c8_c9_a_handler_that_nobody_runs_keeps_its_records_untouched() {
    let database = Database::new().await;
    let (older, mut newer) = (run(OLD, &database).await, run(NEW, &database).await);
    emit(OLD, &database, "order.created").await;
    records_are(
        &database,
        &[
            (Some("bill"), Sent),
            (Some("notify"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;

    // The new version is rolled back, by force. The old one goes on.
    newer.kill();
    emit(OLD, &database, "order.created").await;
    let expected = [
        (Some("bill"), Pending),
        (Some("bill"), Sent),
        (Some("notify"), Pending),
        (Some("notify"), Sent),
        (Some("ship"), Sent),
        (Some("ship"), Sent),
    ];
    let rows = records_are(&database, &expected).await;
    // The old one has come round again since: a third event went through.
    emit(OLD, &database, "order.created").await;
    let third = [
        (Some("bill"), Pending),
        (Some("bill"), Pending),
        (Some("bill"), Sent),
        (Some("notify"), Pending),
        (Some("notify"), Pending),
        (Some("notify"), Sent),
        (Some("ship"), Sent),
        (Some("ship"), Sent),
        (Some("ship"), Sent),
    ];
    let later = records_are(&database, &third).await;
    for row in rows.iter().filter(|row| row.status == Pending) {
        assert_eq!((row.retry_count, row.recovery_count), (0, 0));
        assert_eq!((&row.last_error, row.updated_at), (&None, row.created_at));
        assert!(later.contains(row), "{row:?}");
    }

    // After a day they are counted.
    outbox::sqlx::query(
        "UPDATE outbox_handlers SET last_seen_at = clock_timestamp() - interval '25 hours'
         WHERE handler IN ('bill', 'notify')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let logged = Logged::here();
    let outbox = outbox::start(database.pool())
        .only(["rolling"])
        .await
        .unwrap();
    outbox_tests::eventually("both are warned about", async || {
        let entries = logged.with("that nobody has run for 24 hours");
        (entries.len() == 2).then_some(()).ok_or(entries)
    })
    .await;
    for handler in ["bill", "notify"] {
        let expected = format!(
            "WARN outbox: 2 records wait for a handler that nobody has run for 24 hours handler={handler} unhandled=2"
        );
        assert_eq!(logged.with(&format!("handler={handler}")), [expected]);
    }
    outbox.shutdown().await.unwrap();

    let newer = run(NEW, &database).await;
    let rows = records_are(&database, &third.map(|(handler, _)| (handler, Sent))).await;
    assert!(rows.iter().all(|row| row.retry_count == 0));
    stop(newer).await;
    stop(older).await;
}

#[tokio::test]
async fn c8_records_written_by_hand_for_a_handler_of_nobody_are_never_failed() {
    let database = Database::new().await;
    outbox::sqlx::query(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
         VALUES ('order.created', 'bill', 1, '{}')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let before = database.rows().await;
    let (older, service) = (run(OLD, &database).await, run(AUDIT, &database).await);
    emit(AUDIT, &database, "order.created").await;
    let rows = records_are(
        &database,
        &[
            (Some("audit"), Sent),
            (Some("bill"), Pending),
            (Some("mail"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    assert!(rows.contains(&before[0]));
    stop(older).await;
    stop(service).await;
}
