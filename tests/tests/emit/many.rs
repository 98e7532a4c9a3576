//! Batches: few statements, everything checked first, and bounded memory.

use std::collections::HashSet;

use outbox::{EmitError, EventId, OutboxEvent};
use outbox_tests::{Database, eventually};
use sqlx::query_scalar;

use crate::assert_usable;

#[derive(OutboxEvent)]
#[outbox(event = "many.line")]
struct Line {
    number: usize,
    filler: String,
}

fn lines(count: usize, filler: usize) -> Vec<Line> {
    let line = |number| Line {
        number,
        filler: "x".repeat(filler),
    };
    (0..count).map(line).collect()
}

/// How many statements of this database's log insert events.
async fn inserts(database: &Database, batches: &[&[Line]]) -> Vec<usize> {
    database.log_statements().await;
    let mut connection = database.connect().await;
    let mut counts = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let mark = database.log_mark();
        let mut tx = sqlx::Connection::begin(&mut connection).await.unwrap();
        outbox::emit_many(&mut tx, *batch).await.unwrap();
        tx.commit().await.unwrap();
        let end = format!("SELECT 'batch {number} ends'");
        sqlx::raw_sql(sqlx::AssertSqlSafe(end.clone()))
            .execute(&mut connection)
            .await
            .unwrap();
        eventually("the log is written", async || {
            database
                .log_since(mark)
                .iter()
                .any(|entry| entry.contains(&end))
        })
        .await;
        let log = database.log_since(mark);
        let inserts = log
            .iter()
            .filter(|entry| entry.contains("INSERT INTO outbox_events"));
        counts.push(inserts.count());
        let statements = log
            .iter()
            .filter(|entry| entry.contains("execute "))
            .count();
        assert_eq!(statements, counts[number], "no other round trips: {log:?}");
    }
    counts
}

#[tokio::test]
async fn up_to_1000_events_or_8_mib_are_one_statement() {
    let database = Database::new().await;
    let batches = [
        lines(1, 0),
        lines(1_000, 10),
        lines(1_001, 10),
        lines(20, 1_000_000),
    ];
    let batches = batches.each_ref().map(Vec::as_slice);
    // 8 MiB hold eight payloads of 1 MB.
    assert_eq!(inserts(&database, &batches).await, [1, 1, 2, 3]);
    let rows: i64 = query_scalar("SELECT count(*) FROM outbox_events")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!(rows, 2_022);
}

#[tokio::test]
async fn ids_come_in_the_order_of_the_events() {
    let database = Database::new().await;
    let mut tx = database.pool().begin().await.unwrap();
    let ids = outbox::emit_many(&mut tx, &lines(2_500, 1)).await.unwrap();
    let none = outbox::emit_many::<Line>(&mut tx, &[]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(none, []);
    let stored: Vec<EventId> =
        query_scalar("SELECT event_id FROM outbox_events ORDER BY (payload->>'number')::int")
            .fetch_all(&database.pool())
            .await
            .unwrap();
    assert_eq!(ids, stored);
    let rows = database.rows().await;
    let distinct: HashSet<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(distinct.len(), 2_500);
}

#[tokio::test]
async fn the_last_event_at_fault_keeps_all_from_being_written() {
    let database = Database::new().await;
    let mut events = lines(2_500, 1);
    events.push(Line {
        number: 0,
        filler: "\0".to_owned(),
    });
    let mut tx = database.pool().begin().await.unwrap();
    let error = outbox::emit_many(&mut tx, &events).await.unwrap_err();
    assert!(
        matches!(error, EmitError::InBatch { index: 2_500, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("2500"), "{error}");
    assert_usable(&mut tx).await;
    tx.commit().await.unwrap();
    assert_eq!(database.rows().await, []);
}
