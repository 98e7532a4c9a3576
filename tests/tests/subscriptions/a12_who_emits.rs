//! It does not matter who emits: every subscribed handler gets its record.

use outbox::Status::{Pending, Sent};
use outbox::sqlx::query;
use outbox_tests::Database;

use crate::{AUDIT, NEW, NOTHING, OLD, emit, records_are, run, states, stop};

#[tokio::test]
async fn a12_a_service_that_links_only_its_own_handler() {
    let database = Database::new().await;
    let worker = run(OLD, &database).await;
    emit(AUDIT, &database, "order.created").await;

    // Linked or subscribed: a record each, of one event.
    let rows = records_are(
        &database,
        &[
            (Some("audit"), Pending),
            (Some("mail"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    assert!(rows.iter().all(|row| row.event_id == rows[0].event_id));
    let limits: Vec<_> = rows
        .iter()
        .map(|row| (row.handler.as_deref(), row.max_retries))
        .collect();
    assert!(limits.contains(&(Some("ship"), Some(3))), "{limits:?}");
    assert!(limits.contains(&(Some("mail"), Some(5))), "{limits:?}");

    // Where it runs, its record is delivered, too.
    let service = run(AUDIT, &database).await;
    records_are(
        &database,
        &[
            (Some("audit"), Sent),
            (Some("mail"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    stop(service).await;
    stop(worker).await;
}

#[tokio::test]
async fn a12_a_program_that_links_nothing() {
    let database = Database::new().await;
    let worker = run(OLD, &database).await;
    emit(NOTHING, &database, "order.created").await;
    records_are(&database, &[(Some("mail"), Sent), (Some("ship"), Sent)]).await;
    stop(worker).await;
}

#[tokio::test]
async fn a12_a_program_that_links_nothing_before_anybody_subscribed() {
    let database = Database::new().await;
    emit(NOTHING, &database, "order.created").await;
    assert_eq!(states(&database.rows().await), [(None, Pending)]);

    let worker = run(OLD, &database).await;
    let rows = records_are(&database, &[(Some("mail"), Sent), (Some("ship"), Sent)]).await;
    assert_eq!(rows[0].event_id, rows[1].event_id);
    stop(worker).await;
}

#[tokio::test]
async fn a12_an_older_version_that_does_not_know_a_newer_handler() {
    let database = Database::new().await;
    let newer = run(NEW, &database).await;
    emit(OLD, &database, "order.created").await;
    // `mail` is `notify` by now.
    records_are(
        &database,
        &[
            (Some("bill"), Sent),
            (Some("notify"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    stop(newer).await;
}

#[tokio::test]
async fn a12_plain_sql() {
    let database = Database::new().await;
    let (worker, service) = (run(OLD, &database).await, run(AUDIT, &database).await);
    query(
        "INSERT INTO outbox_events (event_type, payload, headers, tenant_id, correlation_id, max_retries)
         VALUES ('order.created', '{\"id\": 7}', '{\"source\": \"psql\"}', 'acme', 'request-7', 9)",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let rows = records_are(
        &database,
        &[
            (Some("audit"), Sent),
            (Some("mail"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    // Siblings have all that the first row had.
    for row in &rows {
        assert_eq!(
            (row.event_id, row.created_at),
            (rows[0].event_id, rows[0].created_at)
        );
        assert_eq!(row.payload["id"], 7);
        assert_eq!(row.headers["source"], "psql");
        assert_eq!(row.tenant_id.as_deref(), Some("acme"));
        assert_eq!(row.correlation_id.as_deref(), Some("request-7"));
        assert_eq!((row.max_retries, row.retry_count), (Some(9), 0));
    }
    stop(worker).await;
    stop(service).await;
}

#[tokio::test]
async fn a12_services_on_one_table_leave_each_others_records_alone() {
    let database = Database::new().await;
    let (worker, service) = (run(OLD, &database).await, run(AUDIT, &database).await);
    stop(worker).await;
    emit(AUDIT, &database, "order.created").await;
    let rows = records_are(
        &database,
        &[
            (Some("audit"), Sent),
            (Some("mail"), Pending),
            (Some("ship"), Pending),
        ],
    )
    .await;
    for row in rows.iter().filter(|row| row.status == Pending) {
        assert_eq!(
            (row.retry_count, row.recovery_count, row.updated_at),
            (0, 0, row.created_at)
        );
    }
    let worker = run(OLD, &database).await;
    records_are(
        &database,
        &[
            (Some("audit"), Sent),
            (Some("mail"), Sent),
            (Some("ship"), Sent),
        ],
    )
    .await;
    stop(worker).await;
    stop(service).await;
}
