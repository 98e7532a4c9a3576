//! Who calls shutdown, how often, and who waits for it.

use std::time::Duration;

use outbox::{OutboxEvent, ShutdownError, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Gate, emit, record, record_is};

#[derive(OutboxEvent)]
#[outbox(event = "calls.happened")]
struct Happened {}

#[outbox::handler(name = "calls")]
async fn handle(_event: Happened, gate: State<Gate>) {
    gate.pass().await;
}

async fn start(database: &Database, gate: &Gate) -> outbox::Outbox {
    outbox::start(database.pool())
        .only(["calls"])
        .state(gate.clone())
        .await
        .unwrap()
}

#[tokio::test]
async fn calls_at_once_and_afterwards_all_see_the_same_end() {
    let database = Database::new().await;
    let gate = Gate::closed();
    let outbox = start(&database, &gate).await;
    let id = emit(&database.pool(), &Happened {}).await;
    gate.arrivals(1).await;

    let calls: Vec<_> = (0..10)
        .map(|_| {
            let outbox = outbox.clone();
            tokio::spawn(async move { outbox.shutdown().await })
        })
        .collect();
    gate.let_through(1);
    for call in calls {
        call.await.unwrap().unwrap();
        assert_eq!(record(&database, id).await.status, Status::Sent);
    }
    outbox.shutdown().await.unwrap();
    outbox
        .run_until(std::future::pending::<()>())
        .await
        .unwrap();
}

#[tokio::test]
async fn shutdown_goes_on_when_nobody_waits_for_it() {
    let database = Database::new().await;
    let gate = Gate::closed();
    let outbox = start(&database, &gate).await;
    let id = emit(&database.pool(), &Happened {}).await;
    gate.arrivals(1).await;

    // Polled once, then dropped, and the handle with it.
    let waited = tokio::time::timeout(Duration::ZERO, outbox.shutdown()).await;
    assert!(waited.is_err());
    drop(outbox);
    gate.let_through(1);
    record_is(&database, id, Status::Sent).await;
    let later = emit(&database.pool(), &Happened {}).await;
    database.pool().close().await;
    let mut connection = database.connect().await;
    eventually("its connections are closed", async || {
        let others: i64 = outbox::sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        others == 0
    })
    .await;
    let rows = outbox_tests::rows(&mut connection).await.unwrap();
    let row = rows.iter().find(|row| row.event_id == later).unwrap();
    assert_eq!(row.status, Status::Pending);
}

#[tokio::test]
async fn run_until_shuts_down_at_its_signal() {
    let database = Database::new().await;
    let gate = Gate::closed();
    let outbox = start(&database, &gate).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.run_until(stopped).await }
    });
    let id = emit(&database.pool(), &Happened {}).await;
    gate.arrivals(1).await;
    assert!(!running.is_finished());

    stop.send(()).unwrap();
    gate.let_through(1);
    running.await.unwrap().unwrap();
    assert_eq!(record(&database, id).await.status, Status::Sent);

    // Dropped before its signal, it stops nothing.
    let outbox = start(&database, &gate).await;
    let waited = tokio::time::timeout(
        Duration::from_millis(1),
        outbox.run_until(std::future::pending::<()>()),
    )
    .await;
    assert!(waited.is_err());
    gate.let_through(1);
    let id = emit(&database.pool(), &Happened {}).await;
    record_is(&database, id, Status::Sent).await;

    // Somebody else's shutdown ends it, too.
    let (ended, _) = tokio::join!(
        outbox.run_until(std::future::pending::<()>()),
        outbox.shutdown()
    );
    ended.unwrap();
}

#[test]
fn the_end_of_the_tokio_runtime_is_told() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let database = first.block_on(Database::new());
    let gate = Gate::closed();
    let outbox = first.block_on(start(&database, &gate));
    first.shutdown_background();
    let result = runtime().block_on(async {
        // Its tasks are gone a moment after.
        eventually("the runtime is gone", async || {
            outbox.shutdown().await.err()
        })
        .await
    });
    assert!(matches!(result, ShutdownError::RuntimeGone), "{result}");
}
