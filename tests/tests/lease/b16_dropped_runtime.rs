//! B16: the tokio runtime that called `start` goes, with a handler in flight.

use std::time::Duration;

use outbox::{OutboxEvent, State};
use outbox_tests::{Database, eventually};
use sqlx::query_scalar;

use crate::{Stage, all_sent, emit, lease};

#[derive(OutboxEvent)]
#[outbox(event = "b16_dropped_runtime.told")]
struct Told {}

#[outbox::handler(event = "b16_dropped_runtime.told", name = "b16_dropped_runtime")]
async fn wait(_: Told, State(stage): State<Stage>) {
    stage.begin();
    stage.pass().await;
}

#[tokio::test]
async fn b16_nothing_renews_for_a_runtime_that_is_gone() {
    let database = Database::new().await;
    let stage = Stage::new();
    emit(&database, &[Told {}]).await;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = database.connect_options().application_name("b16");
    let (start, first) = (stage.clone(), runtime.handle().clone());
    // Kept, as an application may keep it: a handle is not what a runtime lives by.
    let handle = first
        .spawn(async move {
            let pool = sqlx::PgPool::connect_lazy_with(options);
            outbox::start(pool)
                .only(["b16_dropped_runtime"])
                .lease(lease(2_000))
                .state(start)
                .await
                .unwrap()
        })
        .await
        .unwrap();
    stage.begins(1).await;
    runtime.shutdown_background();
    let other = outbox::start(database.pool())
        .only(["b16_dropped_runtime"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease(2_000))
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(2).await;
    stage.open(1);
    let [row] = all_sent(&database).await.try_into().unwrap();
    assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    other.shutdown().await.unwrap();
    // The heartbeat's connection is in its own thread's hands, and goes when that ends.
    drop(handle);
    eventually("its connections are gone", async || {
        let count = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'b16'";
        let count = query_scalar::<_, i64>(count);
        count.fetch_one(&database.pool()).await.unwrap() == 0
    })
    .await;
    assert_eq!(stage.begun(), 2);
}
