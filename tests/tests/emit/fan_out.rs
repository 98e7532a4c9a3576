//! A12: whoever emits, every linked and every subscribed handler gets a record of its own.

use std::collections::HashSet;

use outbox::serde_json::Value;
use outbox::{OutboxEvent, RawEvent, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, query};

use crate::{handlers, subscribe};

#[derive(OutboxEvent)]
#[outbox(event = "fan_out.order.created")]
struct Created;

#[outbox::handler(name = "fan_out.audit")]
async fn audit(_event: Created) {}

#[outbox::handler(event = "fan_out.order.*", name = "fan_out.index")]
async fn index(_event: RawEvent) {}

#[derive(OutboxEvent)]
#[outbox(event = "fan_out.unlinked")]
struct Unlinked;

/// Emits by both paths, in a transaction each.
async fn emit_twice<E: OutboxEvent>(database: &Database, event: &E) {
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit(&mut tx, event).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, [event]).await.unwrap();
    tx.commit().await.unwrap();
}

fn twice(names: &[&str]) -> Vec<String> {
    let mut twice: Vec<String> = [names, names]
        .concat()
        .iter()
        .map(ToString::to_string)
        .collect();
    twice.sort();
    twice
}

#[tokio::test]
async fn a12_linked_and_subscribed_handlers_get_one_record_each() {
    let database = Database::new().await;
    subscribe(&database, "fan_out.mail", &["fan_out.order.created"], None).await;
    subscribe(&database, "fan_out.ship", &["x", "fan_out.*"], None).await;
    subscribe(
        &database,
        "fan_out.all",
        &["*", "fan_out.*", "fan_out.order.created"],
        None,
    )
    .await;
    subscribe(&database, "fan_out.audit", &["fan_out.order.created"], None).await;
    subscribe(
        &database,
        "fan_out.other",
        &[
            "fan_out",
            "fan_out.order",
            "fan_out.order.create",
            "fan_out.order.created.*",
            "fan*",
            "order.*",
            "",
        ],
        None,
    )
    .await;

    emit_twice(&database, &Created).await;

    let expected = [
        "fan_out.all",
        "fan_out.audit",
        "fan_out.index",
        "fan_out.mail",
        "fan_out.ship",
    ];
    assert_eq!(handlers(&database).await, twice(&expected));
    let rows = database.rows().await;
    let events: HashSet<_> = rows.iter().map(|row| row.event_id).collect();
    assert_eq!(events.len(), 2);
    assert!(rows.iter().all(|row| row.max_retries == Some(5)));
}

#[tokio::test]
async fn a12_a_producer_that_links_nothing_reaches_the_subscribed() {
    let database = Database::new().await;
    subscribe(&database, "fan_out.worker", &["fan_out.unlinked"], Some(3)).await;
    emit_twice(&database, &Unlinked).await;
    assert_eq!(handlers(&database).await, twice(&["fan_out.worker"]));
    assert!(
        database
            .rows()
            .await
            .iter()
            .all(|row| row.max_retries == Some(3))
    );
}

#[tokio::test]
async fn a12_where_nobody_is_one_unbound_row_waits() {
    let database = Database::new().await;
    subscribe(
        &database,
        "fan_out.other",
        &["fan_out.unlinke", "fan_out.unlinked.*"],
        None,
    )
    .await;
    emit_twice(&database, &Unlinked).await;
    let rows = database.rows().await;
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(
            (row.handler, row.max_retries, row.status),
            (None, None, Status::Pending)
        );
    }
}

#[tokio::test]
async fn a12_a_batch_of_many_types_binds_each_by_its_own() {
    let database = Database::new().await;
    subscribe(&database, "fan_out.a", &["fan_out.a"], None).await;
    subscribe(&database, "fan_out.ab", &["fan_out.a", "fan_out.b.*"], None).await;
    let types = [
        "fan_out.a",
        "fan_out.b.c",
        "fan_out.none",
        "fan_out.a",
        "fan_out.order.paid",
    ];
    let events = types.map(|event_type| RawEvent::new(event_type, &Value::from(event_type)));
    let mut tx = database.pool().begin().await.unwrap();
    let ids = outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();

    let rows = database.rows().await;
    let mut got: Vec<(usize, String)> = rows
        .iter()
        .map(|row| {
            let at = ids.iter().position(|id| *id == row.event_id).unwrap();
            assert_eq!(row.event_type, types[at]);
            assert_eq!(row.payload, Value::from(types[at]));
            (at, row.handler.clone().unwrap_or_default())
        })
        .collect();
    got.sort();
    let expected = [
        (0, "fan_out.a"),
        (0, "fan_out.ab"),
        (1, "fan_out.ab"),
        (2, ""),
        (3, "fan_out.a"),
        (3, "fan_out.ab"),
        (4, "fan_out.index"),
    ];
    assert_eq!(got, expected.map(|(at, handler)| (at, handler.to_owned())));
}

#[tokio::test]
async fn ids_differ_and_end_in_the_handlers_ordinal() {
    let database = Database::new().await;
    for handler in ["fan_out.1", "fan_out.2", "fan_out.3"] {
        subscribe(&database, handler, &["fan_out.unlinked"], None).await;
    }
    emit_twice(&database, &Unlinked).await;
    let rows = database.rows().await;
    assert_eq!(rows.len(), 6);
    for row in &rows {
        let id = outbox::uuid::Uuid::from(row.id);
        let event_id = outbox::uuid::Uuid::from(row.event_id);
        let handler = row.handler.clone().unwrap();
        let bytes = id.as_bytes();
        let ordinal = u16::from_be_bytes([bytes[14], bytes[15]]);
        assert_eq!(format!("fan_out.{ordinal}"), handler);
        for id in [id, event_id] {
            assert_eq!(id.get_version_num(), 7);
        }
        assert_ne!(id.as_bytes()[..14], event_id.as_bytes()[..14]);
    }
}

#[tokio::test]
async fn subscriptions_of_a_thousand_are_all_served() {
    let database = Database::new().await;
    query(
        "INSERT INTO outbox_handlers (handler, patterns)
         SELECT 'h' || n, ARRAY['fan_out.unlinked'] FROM generate_series(1, 1000) n",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    emit_twice(&database, &Unlinked).await;
    let rows = database.rows().await;
    let ids: HashSet<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), 2_000);
}

/// Isolation levels above the default see their own snapshot of the subscriptions, and nothing else.
#[tokio::test]
async fn emitting_works_under_every_isolation_level() {
    let database = Database::new().await;
    subscribe(&database, "fan_out.worker", &["fan_out.unlinked"], None).await;
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let begin = sqlx::AssertSqlSafe(format!("BEGIN ISOLATION LEVEL {level}"));
        let mut tx = database.pool().begin_with(begin).await.unwrap();
        let connection: &mut PgConnection = &mut tx;
        outbox::emit(connection, &Unlinked).await.unwrap();
        tx.commit().await.unwrap();
    }
    assert_eq!(database.rows().await.len(), 3);
}
