//! E8: one payload among fifty that is not what the handler takes.

use outbox::serde_json::json;
use outbox::{OutboxEvent, RawEvent, Status};
use outbox_tests::Database;

#[derive(serde::Serialize, serde::Deserialize)]
struct Line {
    price: i64,
}

#[derive(OutboxEvent)]
#[outbox(event = "e8.ordered")]
struct Ordered {
    lines: Vec<Line>,
}

#[outbox::handler(event = "e8.ordered", name = "e8", max_retries = 3)]
async fn ordered(event: Ordered) {
    assert_eq!(event.lines[2].price, 3);
}

#[tokio::test]
async fn e8_the_one_fails_by_type_and_path_and_the_others_are_delivered() {
    let database = Database::new().await;
    let events: Vec<RawEvent> = (0..50)
        .map(|n| {
            let third = if n == 25 { json!("three") } else { json!(3) };
            let lines = json!([{"price": 1}, {"price": 2}, {"price": third}]);
            RawEvent::new("e8.ordered", &json!({ "lines": lines }))
        })
        .collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    let emitted = database.rows().await;
    let outbox = outbox::start(database.pool())
        .only(["e8"])
        .retry(crate::at_once())
        .await
        .unwrap();
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();

    let error = "the payload is not a `failures::e8_one_undecodable::Ordered`: \
                 at `lines[2].price`: invalid type: string \"three\", expected i64";
    let rows = database.rows().await;
    assert_eq!(rows.len(), 50);
    let mut sent = 0;
    for (emitted, row) in emitted.iter().zip(&rows) {
        if row.status == Status::Sent {
            assert_eq!(*row, crate::sent(emitted, row));
            sent += 1;
        } else {
            let last = row.last_error.as_deref().unwrap_or_default();
            assert!(last.starts_with(error), "{last}");
            assert_eq!(*row, crate::failed(emitted, last, row));
            assert_eq!(row.payload["lines"][2]["price"], "three");
        }
    }
    assert_eq!(sent, 49);
}
