//! B9: what a worker holds after ten thousand events is what it held before.

use outbox_tests::{Database, Worker, eventually, eventually_within};
use sqlx::query_scalar;
use std::time::Duration;

use crate::execute;

fn threads(worker: &Worker) -> usize {
    let tasks = format!("/proc/{}/task", worker.pid());
    std::fs::read_dir(tasks).unwrap().count()
}

fn tasks(worker: &Worker) -> Option<String> {
    let lines = worker.lines();
    let tasks = lines
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("tasks "));
    tasks.map(str::to_owned)
}

async fn deliver(database: &Database, count: usize) {
    let sql = format!(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
         SELECT 'worker.told', 'worker', 5, '{{}}' FROM generate_series(1, {count})"
    );
    execute(database, &sql).await;
    eventually_within(Duration::from_secs(120), "all are delivered", async || {
        let open = "SELECT count(*) FROM outbox_events WHERE status <> 'SENT'";
        let open = query_scalar::<_, i64>(open);
        open.fetch_one(&database.pool()).await.unwrap() == 0
    })
    .await;
}

#[tokio::test]
async fn b9_tasks_threads_and_renewals_are_back_at_the_baseline() {
    let database = Database::new().await;
    database.log_statements().await;
    let mut worker = Worker::spawn(env!("CARGO_BIN_EXE_worker"), database.url());
    worker.line("started").await;
    deliver(&database, 1).await;
    // Both connections of claims and settles, and the heartbeat's, exist or never will.
    let (some_tasks, some_threads) = eventually("it has told its tasks", async || {
        tasks(&worker).map(|tasks| (tasks, threads(&worker)))
    })
    .await;

    deliver(&database, 10_000).await;
    eventually("its tasks are as many as before", async || {
        let now = tasks(&worker);
        if now.as_ref() == Some(&some_tasks) {
            Ok(())
        } else {
            Err(now)
        }
    })
    .await;
    eventually("its threads are as many as before", async || {
        let now = threads(&worker);
        if now == some_threads {
            Ok(())
        } else {
            Err(now)
        }
    })
    .await;

    // Over ten polls and five renewal intervals it has nothing to renew.
    let mark = database.log_mark();
    let with = |text: &str| {
        let log = database.log_since(mark);
        log.iter().filter(|entry| entry.contains(text)).count()
    };
    eventually("it polls", async || with("-- Claims due records") >= 10).await;
    assert_eq!(with("-- Renews a runtime's claims"), 0);
    worker.terminate();
    assert!(worker.ended().await.success());
}
