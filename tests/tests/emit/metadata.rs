//! What the builders set stands in the columns.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox::chrono::{TimeZone, Utc};
use outbox::uuid::Uuid;
use outbox::{EventId, OutboxEvent, OutboxRecord, Status, serde_json::json};
use outbox_tests::Database;
use sqlx::query_scalar;

#[derive(OutboxEvent)]
#[outbox(event = "metadata.paid")]
struct Paid {
    order_id: u64,
}

const PAID: Paid = Paid { order_id: 7 };

fn check_defaults(row: &OutboxRecord) {
    assert_eq!(row.status, Status::Pending);
    assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    assert_eq!(row.payload, json!({ "order_id": 7 }));
    assert_eq!(row.headers, BTreeMap::new());
    assert_eq!(row.next_attempt_at, Some(row.created_at));
    assert_eq!(row.updated_at, row.created_at);
    assert_eq!(row.occurred_at, row.created_at);
    let unset = [
        &row.tenant_id,
        &row.aggregate_type,
        &row.aggregate_id,
        &row.partition_key,
        &row.correlation_id,
        &row.causation_id,
        &row.idempotency_key,
        &row.ordering_key,
        &row.last_error,
        &row.claimed_by,
        &row.handler,
    ];
    assert!(unset.iter().all(|column| column.is_none()), "{row:?}");
}

#[tokio::test]
async fn nothing_is_set_by_default() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let begun: outbox::chrono::DateTime<Utc> = query_scalar("SELECT now()")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    outbox::emit(&mut tx, &PAID).await.unwrap();
    outbox::emit_many(&mut tx, &[PAID]).await.unwrap();
    let ended: outbox::chrono::DateTime<Utc> = query_scalar("SELECT clock_timestamp()")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    for row in database.rows().await {
        check_defaults(&row);
        assert!(
            begun < row.created_at && row.created_at < ended,
            "{begun} {ended} {row:?}"
        );
    }
}

#[tokio::test]
async fn all_that_is_set_is_stored_for_each_event() {
    let database = Database::new().await;
    let request = Uuid::now_v7();
    let cause = EventId::from(Uuid::now_v7());
    let time = Utc.with_ymd_and_hms(2001, 2, 3, 4, 5, 6).unwrap() + Duration::from_micros(789);
    let map = BTreeMap::from([
        ("b".to_owned(), "2".to_owned()),
        ("c\"\\".to_owned(), "é\n".to_owned()),
    ]);
    let delay = Duration::from_millis(90_061_001);

    let mut tx = database.pool().begin().await.unwrap();
    let id = outbox::emit(&mut tx, &PAID)
        .tenant("acme")
        .header("a", "0")
        .header("a", 1)
        .headers(&map)
        .correlation_id(request)
        .causation_id(cause)
        .aggregate("order", 7)
        .partition_key("eu")
        .occurred_at(time)
        .event_id(request)
        .delay(delay)
        .max_retries(9)
        .await
        .unwrap();
    assert_eq!(id, EventId::from(request));
    outbox::emit_many(&mut tx, &[PAID, PAID])
        .tenant("acme")
        .header("a", "0")
        .header("a", 1)
        .headers(&map)
        .correlation_id(request)
        .causation_id(cause)
        .aggregate("order", 7)
        .partition_key("eu")
        .occurred_at(time)
        .delay(delay)
        .max_retries(9)
        .await
        .unwrap();
    tx.commit().await.unwrap();

    let rows = database.rows().await;
    assert_eq!(rows.len(), 3);
    for row in rows {
        let mut headers = map.clone();
        headers.insert("a".to_owned(), "1".to_owned());
        assert_eq!(row.headers, headers);
        assert_eq!(row.tenant_id.as_deref(), Some("acme"));
        assert_eq!(row.correlation_id, Some(request.to_string()));
        assert_eq!(row.causation_id, Some(cause.to_string()));
        assert_eq!(row.aggregate_type.as_deref(), Some("order"));
        assert_eq!(row.aggregate_id.as_deref(), Some("7"));
        assert_eq!(row.partition_key.as_deref(), Some("eu"));
        assert_eq!(row.occurred_at, time);
        assert_eq!(row.next_attempt_at, Some(row.created_at + delay));
        assert_eq!(row.updated_at, row.created_at);
        assert_eq!(row.max_retries, Some(9));
    }
}

#[tokio::test]
async fn an_emitters_tenant_is_a_default() {
    let database = Database::new().await;
    let emitter = outbox::Emitter::builder().tenant("acme").build().unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    emitter.emit(&mut tx, &PAID).await.unwrap();
    emitter
        .emit_many(&mut tx, &[PAID])
        .tenant("other")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let tenants: Vec<_> = database
        .rows()
        .await
        .into_iter()
        .map(|row| row.tenant_id)
        .collect();
    assert_eq!(tenants, [Some("acme".to_owned()), Some("other".to_owned())]);
}

#[tokio::test]
async fn builders_keep_payloads_out_of_debug_output() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let emit = format!("{:?}", outbox::emit(&mut tx, &PAID).tenant("acme"));
    assert!(
        emit.contains("metadata.paid") && !emit.contains("order_id"),
        "{emit}"
    );
    let many = format!("{:?}", outbox::emit_many(&mut tx, &[PAID]).tenant("acme"));
    assert!(!many.contains("order_id"), "{many}");
}
