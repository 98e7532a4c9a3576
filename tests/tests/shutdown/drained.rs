//! `drained`: when it returns, nothing is open for these handlers, on any node.

use std::time::Duration;

use outbox::sqlx::query;
use outbox::{Context, DrainError, OutboxEvent, RawEvent, State, Status, serde_json::json};
use outbox_tests::{Database, Server};

use crate::{Gate, emit, record};

#[derive(OutboxEvent)]
#[outbox(event = "drained.happened")]
struct Happened {}

#[outbox::handler(name = "drained", backoff = "fixed", initial_delay = "200ms")]
async fn third_time(_event: Happened, context: Context) -> Result<(), &'static str> {
    if context.attempt() < 3 {
        Err("not yet")
    } else {
        Ok(())
    }
}

#[derive(OutboxEvent)]
#[outbox(event = "drained.gated")]
struct Gated {}

#[outbox::handler(name = "drained_gated")]
async fn gated(_event: Gated, gate: State<Gate>) {
    gate.pass().await;
}

#[outbox::handler(event = "drained.pattern.*", name = "drained_pattern")]
async fn pattern(_event: RawEvent) {}

#[tokio::test]
async fn scheduled_retries_and_delayed_events_are_waited_for() {
    let database = Database::new().await;
    let pool = database.pool();
    let outbox = outbox::start(pool.clone()).only(["drained"]).await.unwrap();
    outbox.drained().await.unwrap();

    let now = emit(&pool, &Happened {}).await;
    let mut tx = pool.begin().await.unwrap();
    let later = outbox::emit(&mut tx, &Happened {})
        .delay(Duration::from_millis(700))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    // Not this runtime's affair.
    let foreign = emit(&pool, &Gated {}).await;

    outbox.drained().await.unwrap();
    for id in [now, later] {
        let row = record(&database, id).await;
        assert_eq!((row.status, row.retry_count), (Status::Sent, 2), "{row:?}");
    }
    assert_eq!(record(&database, foreign).await.status, Status::Pending);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn unbound_records_of_its_types_are_waited_for() {
    let database = Database::new().await;
    let pool = database.pool();
    let outbox = outbox::start(pool.clone())
        .only(["drained", "drained_pattern"])
        .await
        .unwrap();
    for event_type in ["drained.happened", "drained.pattern.a.b", "drained.nobodys"] {
        query(
            "INSERT INTO outbox_events (event_type, payload, next_attempt_at)
             VALUES ($1, '{}', clock_timestamp() + interval '300 milliseconds')",
        )
        .bind(event_type)
        .execute(&pool)
        .await
        .unwrap();
    }

    outbox.drained().await.unwrap();
    let mut rows = database.rows().await;
    rows.sort_by(|a, b| a.event_type.cmp(&b.event_type));
    let states: Vec<_> = rows
        .iter()
        .map(|row| (&*row.event_type, row.status))
        .collect();
    let expected = [
        ("drained.happened", Status::Sent),
        ("drained.nobodys", Status::Pending),
        ("drained.pattern.a.b", Status::Sent),
    ];
    assert_eq!(states, expected);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn another_nodes_work_is_waited_for() {
    let database = Database::new().await;
    let pool = database.pool();
    let (here, there) = (Gate::closed(), Gate::closed());
    let start = |gate: &Gate| {
        outbox::start(pool.clone())
            .only(["drained_gated"])
            .state(gate.clone())
    };
    let other = start(&there).await.unwrap();
    let id = emit(&pool, &Gated {}).await;
    there.arrivals(1).await;
    let outbox = start(&here).await.unwrap();
    let drained = tokio::spawn({
        let outbox = outbox.clone();
        async move {
            outbox.drained().await.unwrap();
            outbox
        }
    });
    there.let_through(1);
    let outbox = drained.await.unwrap();
    assert_eq!(record(&database, id).await.status, Status::Sent);
    assert_eq!(here.arrived(), 0);
    for outbox in [outbox, other] {
        outbox.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_dead_letter_is_not_waited_for() {
    let database = Database::new().await;
    let pool = database.pool();
    let outbox = outbox::start(pool.clone()).only(["drained"]).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    let id = outbox::emit(&mut tx, &Happened {})
        .max_retries(1)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    outbox.drained().await.unwrap();
    assert_eq!(record(&database, id).await.status, Status::Failed);
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_outbox_that_stops_first_is_an_error() {
    let database = Database::new().await;
    let pool = database.pool();
    let gate = Gate::closed();
    let outbox = outbox::start(pool.clone())
        .only(["drained_gated"])
        .state(gate.clone())
        .await
        .unwrap();
    emit(&pool, &Gated {}).await;
    gate.arrivals(1).await;
    let drained = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.drained().await }
    });
    tokio::task::yield_now().await;
    gate.let_through(1);
    outbox.shutdown().await.unwrap();
    // It may have seen the end of the work before the stop.
    let seen = drained.await.unwrap();
    assert!(matches!(seen, Ok(()) | Err(DrainError::Stopped)));
    let error = outbox.drained().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the outbox was stopped before its records were drained"
    );
}

#[tokio::test]
async fn a_restart_of_the_server_is_waited_out() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let pool = database.pool();
    let gate = Gate::closed();
    let outbox = outbox::start(pool.clone())
        .only(["drained_gated"])
        .state(gate.clone())
        .await
        .unwrap();
    let event = RawEvent::new("drained.gated", &json!({}));
    let id = emit(&pool, &event).await;
    gate.arrivals(1).await;
    query("CHECKPOINT").execute(&pool).await.unwrap();
    let drained = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.drained().await }
    });
    tokio::task::yield_now().await;
    server.stop().await;
    gate.let_through(1);
    server.start().await;
    drained.await.unwrap().unwrap();
    let row = record(&database, id).await;
    assert_eq!((row.status, row.retry_count), (Status::Sent, 0));
    outbox.shutdown().await.unwrap();
}
