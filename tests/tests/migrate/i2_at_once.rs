//! Many processes that migrate at once.

use std::process::Command;

use outbox::sqlx::{Connection, Executor, query_scalar};
use outbox_tests::{Database, Worker, eventually};

use crate::{catalog, ledger, migrations};

fn migrate(database: &Database) -> Worker {
    let mut command = Command::new(env!("CARGO_BIN_EXE_links-nothing"));
    Worker::spawn_command(command.arg("migrate").env("DATABASE_URL", database.url()))
}

#[tokio::test]
async fn i2_one_applies_and_the_others_wait() {
    let database = Database::empty().await;
    let workers: Vec<Worker> = (0..10).map(|_| migrate(&database)).collect();
    for mut worker in workers {
        worker.line("migrated").await;
        assert!(worker.ended().await.success());
    }
    assert_eq!(ledger(&database).await.len(), migrations());
    assert_eq!(database.rows().await, []);
}

#[tokio::test]
async fn i2_one_that_is_killed_midway_leaves_no_half_of_it() {
    let database = Database::empty().await;
    let pool = database.pool();
    // Somebody's uncommitted table of the same name stops the migration in its middle.
    let mut connection = database.connect().await;
    let mut obstacle = connection.begin().await.unwrap();
    obstacle
        .execute("CREATE TABLE outbox_handlers (mine int)")
        .await
        .unwrap();
    let mut killed = migrate(&database);
    eventually("it waits in the middle", async || {
        let waiting: i64 = query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        waiting == 1
    })
    .await;
    killed.kill();

    let workers: Vec<Worker> = (0..9).map(|_| migrate(&database)).collect();
    eventually("the others wait for it", async || {
        let waiting: i64 = query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        waiting == 10
    })
    .await;
    assert_eq!(ledger(&database).await.len(), 0);
    obstacle.rollback().await.unwrap();
    for mut worker in workers {
        worker.line("migrated").await;
        assert!(worker.ended().await.success());
    }
    let (relations, noted) = (catalog(&pool).await, ledger(&database).await);
    assert_eq!(noted.len(), migrations());

    let mut again = migrate(&database);
    again.line("migrated").await;
    assert!(again.ended().await.success());
    assert_eq!(catalog(&pool).await, relations);
    assert_eq!(ledger(&database).await, noted);
    assert_eq!(database.rows().await, []);
}
