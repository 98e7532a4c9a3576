//! B10: renewals, settles and an operator's changes of the same rows, one of them locked.

use std::time::Duration;

use outbox::{Admin, Context, OutboxEvent, State, Status};
use outbox_tests::{Database, eventually};
use sqlx::{Connection, query, query_scalar};

use crate::{Stage, emit, lease};

const EVENTS: usize = 300;

#[derive(OutboxEvent)]
#[outbox(event = "b10_no_deadlocks.told")]
struct Told {
    /// Scattered over the rows, so that they settle in another order than that of their ids.
    ms: u64,
}

#[outbox::handler(
    event = "b10_no_deadlocks.told",
    name = "b10_no_deadlocks",
    max_retries = 3,
    initial_delay = "1ms",
    max_delay = "1ms"
)]
async fn wait(event: Told, context: Context, State(stage): State<Stage>) -> Result<(), String> {
    stage.begin();
    tokio::time::sleep(Duration::from_millis(event.ms)).await;
    if event.ms.is_multiple_of(3) && context.attempt() == 1 {
        return Err("once".to_owned());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b10_renewals_settles_and_an_operator_never_deadlock() {
    let database = Database::new().await;
    let stage = Stage::new();
    let told: Vec<Told> = (0..EVENTS)
        .map(|i| Told {
            ms: (i as u64 * 7_919) % 400,
        })
        .collect();
    emit(&database, &told).await;
    let mark = database.log_mark();
    let outbox = outbox::start(database.pool())
        .only(["b10_no_deadlocks"])
        .concurrency(50)
        .lease(
            lease(30_000)
                .heartbeat_interval(Duration::from_millis(50))
                .heartbeat_failure_tolerance(400),
        )
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;
    let mut stranger = database.connect().await;
    query("BEGIN").execute(&mut stranger).await.unwrap();
    let locked: uuid::Uuid = query_scalar(
        "SELECT id FROM outbox_events WHERE status = 'PROCESSING' LIMIT 1 FOR UPDATE SKIP LOCKED",
    )
    .fetch_one(&mut stranger)
    .await
    .unwrap();

    let admin = Admin::operator(database.pool());
    let ids: Vec<_> = database.rows().await.iter().map(|row| row.id).collect();
    let operator = tokio::spawn(async move {
        for i in (0..).map(|i: usize| i * 7_919 % EVENTS) {
            if uuid::Uuid::from(ids[i]) != locked {
                let _ = admin.mark_failed(ids[i], "by the operator").await.unwrap();
            }
        }
    });
    let rows = eventually("all but the locked one have ended", async || {
        let rows = database.rows().await;
        let open = rows.iter().filter(|row| row.processed_at.is_none());
        let open: Vec<_> = open.map(|row| uuid::Uuid::from(row.id)).collect();
        if open == [locked] {
            Ok(rows)
        } else {
            Err(open)
        }
    })
    .await;
    operator.abort();
    for row in &rows {
        assert_eq!(row.recovery_count, 0, "{row:?}");
        if row.status == Status::Failed {
            assert_eq!(row.last_error.as_deref(), Some("by the operator"));
        }
    }
    stranger.close().await.unwrap();
    eventually("the locked one ends, too", async || {
        let rows = database.rows().await;
        rows.iter().all(|row| row.processed_at.is_some())
    })
    .await;
    outbox.shutdown().await.unwrap();
    let log = database.log_since(mark);
    let deadlocks: Vec<_> = log
        .iter()
        .filter(|entry| entry.contains("deadlock"))
        .collect();
    assert!(deadlocks.is_empty(), "{deadlocks:#?}");
}
