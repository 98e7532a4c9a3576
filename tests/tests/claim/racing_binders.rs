//! Records without a handler, and several runtimes that race to bind them.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox::{OutboxEvent, RawEvent, State};
use outbox_tests::Database;

use crate::{Runs, execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "racing_binders.told")]
struct Told {}

#[outbox::handler(event = "racing_binders.told", name = "racing_binders_a")]
async fn a(_: Told, State(runs): State<Runs>) {
    runs.add();
}

#[outbox::handler(
    event = "racing_binders.told",
    name = "racing_binders_b",
    max_retries = 3
)]
async fn b(_: Told, State(runs): State<Runs>) {
    runs.add();
}

#[outbox::handler(event = "racing_binders.told", name = "racing_binders_c")]
async fn c(_: RawEvent, State(runs): State<Runs>) {
    runs.add();
}

const EVENTS: usize = 200;

#[tokio::test]
async fn each_event_gets_exactly_one_record_for_each_handler() {
    let database = Database::new().await;
    let runs = Runs::default();
    let start = async |handlers: &[&str]| {
        outbox::start(database.pool())
            .only(handlers.iter().copied())
            .poll_interval(Duration::from_millis(20))
            .concurrency(8)
            .state(runs.clone())
            .await
            .unwrap()
    };
    let nodes = [
        start(&["racing_binders_a"]).await,
        start(&["racing_binders_b"]).await,
        start(&["racing_binders_c"]).await,
        start(&["racing_binders_a", "racing_binders_b"]).await,
        start(&["racing_binders_a", "racing_binders_b", "racing_binders_c"]).await,
    ];
    let sql = format!(
        "INSERT INTO outbox_events (event_type, payload, tenant_id)
         SELECT 'racing_binders.told', '{{}}', 'tenant ' || i FROM generate_series(1, {EVENTS}) i;
         SELECT pg_notify('outbox_events', '')"
    );
    execute(&database, &sql).await;
    let rows = sent(&database, 3 * EVENTS).await;
    let mut events = BTreeMap::<_, Vec<_>>::new();
    for row in rows {
        assert_eq!((row.retry_count, row.recovery_count), (0, 0));
        let handler = row.handler.unwrap();
        let expected = if handler == "racing_binders_b" { 3 } else { 5 };
        assert_eq!(row.max_retries, Some(expected));
        let event = events.entry((row.event_id, row.tenant_id)).or_default();
        event.push(handler);
    }
    assert_eq!(events.len(), EVENTS);
    for handlers in events.values_mut() {
        handlers.sort_unstable();
        let all = ["racing_binders_a", "racing_binders_b", "racing_binders_c"];
        assert_eq!(*handlers, all);
    }
    for node in nodes {
        node.shutdown().await.unwrap();
    }
    assert_eq!(runs.count(), 3 * EVENTS);
}

#[outbox::handler(event = "racing_binders.wild.*", name = "racing_binders_wild")]
async fn wild(_: RawEvent, State(runs): State<Runs>) {
    runs.add();
}

#[tokio::test]
async fn a_pattern_s_handler_gets_unbound_records_of_types_that_nobody_names() {
    let database = Database::new().await;
    let runs = Runs::default();
    let outbox = outbox::start(database.pool())
        .only(["racing_binders_wild"])
        .poll_interval(Duration::from_secs(300))
        .state(runs.clone())
        .await
        .unwrap();
    for (n, event_type) in ["racing_binders.wild.a", "racing_binders.wild.b.c"]
        .iter()
        .enumerate()
    {
        let sql = format!(
            "INSERT INTO outbox_events (event_type, payload) VALUES ('{event_type}', '{{}}');
             SELECT pg_notify('outbox_events', '')"
        );
        execute(&database, &sql).await;
        sent(&database, n + 1).await;
    }
    // Of other types it takes none.
    let others = "INSERT INTO outbox_events (event_type, payload)
        VALUES ('racing_binders.wild', '{}'), ('racing_binders.wilder', '{}')";
    execute(&database, others).await;
    execute(
        &database,
        "INSERT INTO outbox_events (event_type, payload)
        VALUES ('racing_binders.wild.a', '{}'); SELECT pg_notify('outbox_events', '')",
    )
    .await;
    runs.reach(3).await;
    outbox.shutdown().await.unwrap();
    let rows = database.rows().await;
    let unbound = rows.iter().filter(|row| row.handler.is_none());
    assert_eq!((rows.len(), unbound.count()), (5, 2));
}
