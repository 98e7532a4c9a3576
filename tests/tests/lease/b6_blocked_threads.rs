//! B6: handlers that block every thread of their tokio runtime for three leases.

use std::time::Duration;

use outbox::{OutboxEvent, State};
use outbox_tests::Database;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::{Stage, all_sent, emit, lease};

const LEASE: u64 = 2_000;

#[derive(OutboxEvent)]
#[outbox(event = "b6_blocked_threads.told")]
struct Told {}

#[outbox::handler(event = "b6_blocked_threads.told", name = "b6_blocked_threads")]
async fn block(_: Told, State(stage): State<Stage>) {
    stage.begin();
    std::thread::sleep(Duration::from_millis(3 * LEASE));
}

/// Delivers as many events as `runtime` has threads, while another node watches for lost leases.
async fn blocks(mut runtime: Builder, threads: usize) {
    let database = Database::new().await;
    let stage = Stage::new();
    let told: Vec<Told> = (0..threads).map(|_| Told {}).collect();
    emit(&database, &told).await;

    let (url, blocked) = (database.url().to_owned(), stage.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let owner = std::thread::spawn(move || {
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            let pool = sqlx::PgPool::connect_lazy(&url).unwrap();
            let outbox = outbox::start(pool)
                .only(["b6_blocked_threads"])
                .lease(lease(LEASE))
                .state(blocked)
                .await
                .unwrap();
            // Run by a thread of the runtime, so that the handlers may block all of them.
            tokio::spawn(async move {
                let _ = stopped.await;
                outbox.shutdown().await.unwrap();
            })
            .await
            .unwrap();
        });
    });
    stage.begins(threads).await;
    let other = outbox::start(database.pool())
        .only(["b6_blocked_threads"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease(LEASE))
        .state(stage.clone())
        .await
        .unwrap();
    for row in all_sent(&database).await {
        assert_eq!((row.retry_count, row.recovery_count), (0, 0), "{row:?}");
        let took = row.processed_at.unwrap() - row.created_at;
        assert!(took.num_milliseconds() >= 3 * i64::try_from(LEASE).unwrap());
    }
    assert_eq!(stage.begun(), threads, "each was delivered once");
    other.shutdown().await.unwrap();
    drop(stop);
    owner.join().unwrap();
}

#[tokio::test]
async fn b6_a_blocked_current_thread_keeps_its_lease() {
    blocks(Builder::new_current_thread(), 1).await;
}

#[tokio::test]
async fn b6_two_blocked_workers_keep_their_leases() {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(2);
    blocks(runtime, 2).await;
}
