//! The handle that `start` gives.

use std::time::Duration;

use outbox::sqlx::{query, query_scalar};
use outbox::{Backoff, OutboxEvent, RawEvent, Status};
use outbox_tests::{Database, eventually};

use crate::{emit, sent};

#[derive(OutboxEvent)]
#[outbox(event = "handle.happened")]
struct Happened {}

#[outbox::handler(
    name = "handle_full",
    alias = ["handle_former", "handle_first"],
    max_retries = 4,
    backoff = "fixed",
    initial_delay = "250ms",
    max_delay = "5m",
    timeout = "30s"
)]
async fn full(_event: Happened) {}

#[outbox::handler(event = "handle.*", name = "handle_all")]
async fn all(_event: RawEvent) {}

#[tokio::test]
async fn handlers_tells_all_attributes_in_name_order() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["handle_full", "handle_all"])
        .await
        .unwrap();
    let handlers = outbox.handlers();
    let [all, full] = handlers.as_slice() else {
        panic!("{handlers:?}");
    };
    assert_eq!((all.name, full.name), ("handle_all", "handle_full"));
    assert_eq!(
        (all.patterns, full.patterns),
        (&["handle.*"][..], &["handle.happened"][..])
    );
    assert_eq!(full.aliases, ["handle_former", "handle_first"]);
    assert!(all.aliases.is_empty());
    assert_eq!((all.max_retries, full.max_retries), (None, Some(4)));
    assert_eq!(
        (all.backoff, full.backoff),
        (Backoff::Exponential, Backoff::Fixed)
    );
    let initial = (
        all.initial_delay.as_millis(),
        full.initial_delay.as_millis(),
    );
    assert_eq!(initial, (1_000, 250));
    assert_eq!(
        (all.max_delay.as_secs(), full.max_delay.as_secs()),
        (86_400, 300)
    );
    assert_eq!(
        (all.timeout, full.timeout),
        (None, Some(Duration::from_secs(30)))
    );
    assert!(
        full.place.file.ends_with("start/handle.rs"),
        "{}",
        full.place
    );
    assert!(full.place.line < all.place.line);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_dropped_handle_keeps_the_runtime_running() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["handle_full", "handle_all"])
        .await
        .unwrap();
    let emitter = outbox.emitter();
    drop(outbox);

    let pool = database.pool();
    let mut tx = pool.begin().await.unwrap();
    emitter.emit(&mut tx, &Happened {}).await.unwrap();
    tx.commit().await.unwrap();
    sent(&database, 2).await;
}

/// Handler, patterns, limit, former names.
type Row = (String, Vec<String>, Option<i32>, Vec<String>);

#[tokio::test]
async fn subscriptions_are_written_in_one_statement_before_the_first_claim() {
    let database = Database::new().await;
    database.log_statements().await;
    let mark = database.log_mark();
    let outbox = outbox::start(database.pool())
        .only(["handle_full", "handle_all"])
        .await
        .unwrap();
    let subscriptions: Vec<Row> = outbox::sqlx::query_as(
        "SELECT handler, patterns, max_retries, aliases FROM outbox_handlers ORDER BY handler",
    )
    .fetch_all(&database.pool())
    .await
    .unwrap();
    let list = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected: [Row; 2] = [
        ("handle_all".into(), list(&["handle.*"]), None, list(&[])),
        (
            "handle_full".into(),
            list(&["handle.happened"]),
            Some(4),
            list(&["handle_former", "handle_first"]),
        ),
    ];
    assert_eq!(subscriptions, expected);

    let log = eventually("a claim is logged", async || {
        let log = database.log_since(mark);
        let claimed = log
            .iter()
            .any(|entry| entry.contains("-- Claims due records"));
        claimed.then_some(log)
    })
    .await;
    let place = |text: &str| {
        let mut places = log
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.contains(text));
        places
            .next()
            .unwrap_or_else(|| panic!("{text}: {log:#?}"))
            .0
    };
    assert!(place("INSERT INTO outbox_handlers") < place("-- Claims due records"));
    let writes = log
        .iter()
        .filter(|entry| entry.contains("INSERT INTO outbox_handlers"));
    assert_eq!(writes.count(), 1, "{log:#?}");
    // Its own connections say who they are by what they run; none of them is changed by SET.
    assert!(
        !log.iter()
            .any(|entry| entry.contains("execute") && entry.contains(": SET ")),
        "{log:#?}"
    );
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn records_of_former_names_and_of_plain_sql_are_served() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["handle_full", "handle_all"])
        .await
        .unwrap();
    query(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
         VALUES ('handle.happened', 'handle_former', 2, '{}')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let rows = sent(&database, 1).await;
    assert_eq!(rows[0].handler.as_deref(), Some("handle_former"));
    assert_eq!(rows[0].max_retries, Some(2));
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_pattern_takes_unbound_rows_of_types_that_nobody_names() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["handle_all"])
        .await
        .unwrap();
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('handle.unheard.of', '{}')")
        .execute(&database.pool())
        .await
        .unwrap();
    query_scalar::<_, Option<String>>("SELECT pg_notify('outbox_events', '')::text")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    let rows = sent(&database, 1).await;
    assert_eq!(rows[0].handler.as_deref(), Some("handle_all"));
    assert_eq!(
        (rows[0].status, rows[0].max_retries),
        (Status::Sent, Some(5))
    );
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn several_runtimes_on_several_databases_keep_apart() {
    let (here, there) = (Database::new().await, Database::new().await);
    let start = |database: &Database| outbox::start(database.pool()).only(["handle_full"]);
    let first = start(&here).await.unwrap();
    let second = start(&there).await.unwrap();
    let third = start(&here).await.unwrap();
    emit(&here.pool(), &Happened {}).await;
    emit(&there.pool(), &Happened {}).await;
    // The emitter's binary links both handlers of the type; only one of them runs here.
    for database in [&here, &there] {
        eventually("each event is sent where it was emitted", async || {
            let rows = database.rows().await;
            let full = rows
                .iter()
                .find(|row| row.handler.as_deref() == Some("handle_full"));
            let all = rows
                .iter()
                .find(|row| row.handler.as_deref() == Some("handle_all"));
            let states = (rows.len(), full.unwrap().status, all.unwrap().status);
            (states == (2, Status::Sent, Status::Pending))
                .then_some(())
                .ok_or(states)
        })
        .await;
    }
    first.shutdown().await.unwrap();
    third.shutdown().await.unwrap();
    emit(&there.pool(), &Happened {}).await;
    eventually("the other goes on", async || {
        let rows = there.rows().await;
        rows.iter().filter(|row| row.status == Status::Sent).count() == 2
    })
    .await;
    second.shutdown().await.unwrap();
}
