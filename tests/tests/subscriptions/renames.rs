//! A handler that was renamed, while both versions run.

use outbox::Status::Sent;
use outbox::sqlx::query;
use outbox_tests::Database;

use crate::{NEW, NOTHING, OLD, emit, records_are, run, stop};

#[tokio::test]
async fn e12_old_and_new_both_run_and_emit_one_record_for_each_event() {
    let database = Database::new().await;
    let older = run(OLD, &database).await;
    // Before the new version was there, its old name got the record.
    emit(OLD, &database, "order.created").await;
    records_are(&database, &[(Some("mail"), Sent), (Some("ship"), Sent)]).await;

    let newer = run(NEW, &database).await;
    let mut expected = vec![(Some("mail"), Sent), (Some("ship"), Sent)];
    for program in [OLD, NEW, NOTHING] {
        emit(program, &database, "order.created").await;
        expected.extend([
            (Some("bill"), Sent),
            (Some("notify"), Sent),
            (Some("ship"), Sent),
        ]);
    }
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('order.created', '{}')")
        .execute(&database.pool())
        .await
        .unwrap();
    expected.extend([
        (Some("bill"), Sent),
        (Some("notify"), Sent),
        (Some("ship"), Sent),
    ]);
    expected.sort_by_key(|(handler, _)| *handler);
    records_are(&database, &expected).await;
    stop(older).await;
    stop(newer).await;
}

#[tokio::test]
async fn e12_records_under_the_former_name_are_delivered_by_the_renamed_handler() {
    let database = Database::new().await;
    let mut older = run(OLD, &database).await;
    older.kill();
    emit(OLD, &database, "order.created").await;
    let newer = run(NEW, &database).await;
    // The name that stands on the row stays: it is what the row was written for.
    records_are(&database, &[(Some("mail"), Sent), (Some("ship"), Sent)]).await;
    stop(newer).await;
}
