//! Records that nobody handles are warned about when a runtime starts.

use outbox::RawEvent;
use outbox::sqlx::Executor;
use outbox_tests::{Database, Logged, eventually};

#[outbox::handler(
    event = "unhandled.mine",
    name = "unhandled",
    alias = "unhandled_former"
)]
async fn mine(_event: RawEvent) {}

#[outbox::handler(event = "unhandled.prefix.*", name = "unhandled_prefix")]
async fn prefix(_event: RawEvent) {}

#[tokio::test]
async fn they_are_counted_by_handler_and_type_and_nothing_else_is() {
    let database = Database::new().await;
    database
        .pool()
        .execute(
            "INSERT INTO outbox_handlers (handler, patterns, last_seen_at) VALUES
               ('gone', '{x}', clock_timestamp() - interval '24 hours 1 minute'),
               ('away', '{x}', clock_timestamp() - interval '23 hours');
             INSERT INTO outbox_events (event_type, handler, max_retries, payload)
               SELECT 'x', handler, 5, '{}' FROM
                 unnest('{gone,gone,gone,away,unknown,unhandled_former}'::text[]) handler;
             -- Delivered or failed, a row waits for nobody.
             INSERT INTO outbox_events (event_type, handler, max_retries, payload, status, processed_at)
               VALUES ('x', 'sent_long_ago', 5, '{}', 'SENT', now());
             INSERT INTO outbox_events (event_type, payload) VALUES
               ('nobodys', '{}'), ('nobodys', '{}'), ('nobodys.neither', '{}'), ('unhandled', '{}'),
               ('unhandled.mine', '{}'), ('unhandled.prefix.a.b', '{}'), ('unhandled.prefix', '{}')",
        )
        .await
        .unwrap();
    let before = database.rows().await;

    let logged = Logged::here();
    let outbox = outbox::start(database.pool())
        .only(["unhandled", "unhandled_prefix"])
        .await
        .unwrap();
    let of = |handler: &str, rows: u32| {
        format!(
            "WARN outbox: {rows} records wait for a handler that nobody has run for 24 hours handler={handler} unhandled={rows}"
        )
    };
    let of_type = |event_type: &str, rows: u32| {
        format!(
            "WARN outbox: {rows} records wait for a subscription to their event type event_type={event_type} unhandled={rows}"
        )
    };
    let expected = [
        of("gone", 3),
        of("unknown", 1),
        of_type("nobodys", 2),
        of_type("nobodys.neither", 1),
        of_type("unhandled", 1),
        of_type("unhandled.prefix", 1),
    ];
    eventually("all are warned about, and nothing else", async || {
        let mut entries = logged.with("records wait for");
        entries.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        (entries == expected).then_some(()).ok_or(entries)
    })
    .await;
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();
    // They were counted, not touched.
    let after = database.rows().await;
    let untouched = before.iter().filter(|row| after.contains(row)).count();
    // All but those that this runtime delivered: one former name, two types.
    assert_eq!((untouched, after.len()), (before.len() - 3, before.len()));
}

#[tokio::test]
async fn without_any_nothing_is_said() {
    let database = Database::new().await;
    let logged = Logged::here();
    let outbox = outbox::start(database.pool())
        .only(["unhandled"])
        .await
        .unwrap();
    database
        .pool()
        .execute("INSERT INTO outbox_events (event_type, payload) VALUES ('unhandled.mine', '{}')")
        .await
        .unwrap();
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();
    assert_eq!(logged.with("WARN"), [] as [String; 0]);
}
