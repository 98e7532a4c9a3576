//! A handler that was renamed, while both versions run.

use outbox::RawEvent;
use outbox::Status::Sent;
use outbox::sqlx::query;
use outbox_tests::Database;

use crate::{NEW, NOTHING, OLD, emit, records_are, run, states, stop};

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

#[outbox::handler(
    event = "renames.happened",
    name = "renames_third",
    alias = "renames_second"
)]
async fn third(_event: RawEvent) {}

#[tokio::test]
async fn e12_a_row_of_plain_sql_follows_a_chain_of_renames_to_its_end() {
    let database = Database::new().await;
    // What two earlier versions left behind.
    query(
        "INSERT INTO outbox_handlers (handler, patterns, aliases, max_retries) VALUES
           ('renames_first', '{renames.happened}', '{}', 2),
           ('renames_second', '{renames.*}', '{renames_first}', 3)",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let outbox = outbox::start(database.pool())
        .only(["renames_third"])
        .await
        .unwrap();
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('renames.happened', '{}')")
        .execute(&database.pool())
        .await
        .unwrap();
    outbox.drained().await.unwrap();
    let rows = database.rows().await;
    assert_eq!(states(&rows), [(Some("renames_third"), Sent)]);
    assert_eq!(rows[0].max_retries, Some(5));

    // As it does for one that is emitted.
    emit(NOTHING, &database, "renames.happened").await;
    let rows = records_are(
        &database,
        &[(Some("renames_third"), Sent), (Some("renames_third"), Sent)],
    )
    .await;
    assert!(rows.iter().all(|row| row.max_retries == Some(5)));
    outbox.shutdown().await.unwrap();
}
