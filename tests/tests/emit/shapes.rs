//! E7: whatever the shape of a type, it is stored as JSON and reads back.

use outbox::OutboxEvent;
use outbox_tests::Database;
use sqlx::{PgConnection, query_scalar};

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.unit")]
struct Unit;

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.newtype")]
struct Newtype(Option<u8>);

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.tuple")]
struct Tuple(u8, String);

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.external")]
enum External {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.internal")]
#[serde(tag = "kind")]
enum Internal {
    Unit,
    Struct { a: u8 },
}

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.adjacent")]
#[serde(tag = "kind", content = "body")]
enum Adjacent {
    Unit,
    Tuple(u8, u8),
}

#[derive(OutboxEvent, PartialEq, Debug)]
#[outbox(event = "shapes.untagged")]
#[serde(untagged)]
enum Untagged {
    Number(u64),
    Struct { a: u8 },
}

async fn stored<E: OutboxEvent + PartialEq + std::fmt::Debug>(
    tx: &mut PgConnection,
    event: E,
    json: &str,
) {
    let id = outbox::emit(tx, &event).await.unwrap();
    let payload: String =
        query_scalar("SELECT payload::text FROM outbox_events WHERE event_id = $1")
            .bind(id)
            .fetch_one(tx)
            .await
            .unwrap();
    assert_eq!(payload, json);
    assert_eq!(E::from_json(&payload).unwrap(), event);
}

#[tokio::test]
async fn e7_every_shape_is_stored_and_reads_back() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let tx = &mut *tx;
    stored(tx, Unit, "null").await;
    stored(tx, Newtype(None), "null").await;
    stored(tx, Newtype(Some(1)), "1").await;
    stored(tx, Tuple(1, "a".to_owned()), r#"[1, "a"]"#).await;
    stored(tx, External::Unit, r#""Unit""#).await;
    stored(tx, External::Newtype(1), r#"{"Newtype": 1}"#).await;
    stored(tx, External::Tuple(1, 2), r#"{"Tuple": [1, 2]}"#).await;
    stored(tx, External::Struct { a: 1 }, r#"{"Struct": {"a": 1}}"#).await;
    stored(tx, Internal::Unit, r#"{"kind": "Unit"}"#).await;
    stored(
        tx,
        Internal::Struct { a: 1 },
        r#"{"a": 1, "kind": "Struct"}"#,
    )
    .await;
    stored(tx, Adjacent::Unit, r#"{"kind": "Unit"}"#).await;
    stored(
        tx,
        Adjacent::Tuple(1, 2),
        r#"{"body": [1, 2], "kind": "Tuple"}"#,
    )
    .await;
    stored(tx, Untagged::Number(u64::MAX), "18446744073709551615").await;
    stored(tx, Untagged::Struct { a: 1 }, r#"{"a": 1}"#).await;
    let nulls: i64 = query_scalar("SELECT count(*) FROM outbox_events WHERE payload = 'null'")
        .fetch_one(tx)
        .await
        .unwrap();
    assert_eq!(nulls, 2, "JSON null is a value, not SQL NULL");
}
