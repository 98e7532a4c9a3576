//! G6: the database's, or the role's, default isolation is stricter than what statements need.

use std::time::Duration;

use outbox::{Context, OutboxEvent, Retry, Status};
use outbox_tests::Database;
use sqlx::AssertSqlSafe;

use crate::terminate_all;

#[derive(OutboxEvent)]
#[outbox(event = "g6.asked")]
struct Asked {
    good: i32,
}

#[outbox::handler(event = "g6.asked", name = "g6")]
async fn asked(event: Asked, context: Context) -> Result<(), &'static str> {
    if context.attempt() < event.good {
        Err("no")
    } else {
        Ok(())
    }
}

async fn start(database: &Database) -> outbox::Outbox {
    outbox::start(database.pool_with(|options| options))
        .only(["g6"])
        .concurrency(4)
        .poll_interval(Duration::from_millis(20))
        .retry(Retry::default().initial_delay(Duration::from_millis(1)))
        .await
        .unwrap()
}

async fn emit(database: &Database, count: i32) {
    let events: Vec<Asked> = (0..count).map(|n| Asked { good: 1 + n % 3 }).collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
}

async fn set_default(database: &Database, what: &str) {
    let sql = format!("ALTER DATABASE {} SET {what}", database.name());
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&database.pool())
        .await
        .unwrap();
}

async fn all_are_delivered(database: &Database) {
    for row in database.rows().await {
        let failures = row.payload["good"].as_i64().unwrap() - 1;
        assert_eq!(
            (row.status, i64::from(row.retry_count)),
            (Status::Sent, failures)
        );
        assert_eq!(row.last_error.is_some(), failures > 0);
    }
}

async fn nothing_fails_under(level: &str) {
    let database = Database::new().await;
    emit(&database, 150).await;
    set_default(
        &database,
        &format!("default_transaction_isolation = '{level}'"),
    )
    .await;
    let mark = database.log_mark();
    let runtimes = [start(&database).await, start(&database).await];
    emit(&database, 150).await;
    for outbox in &runtimes {
        outbox.drained().await.unwrap();
    }
    for outbox in runtimes {
        outbox.shutdown().await.unwrap();
    }
    assert_eq!(database.rows().await.len(), 300);
    all_are_delivered(&database).await;
    let log = database.log_since(mark);
    let conflicts: Vec<_> = log
        .iter()
        .filter(|line| line.contains("could not serialize"))
        .collect();
    assert!(conflicts.is_empty(), "{conflicts:?}");
}

#[tokio::test]
async fn g6_repeatable_read() {
    nothing_fails_under("repeatable read").await;
}

#[tokio::test]
async fn g6_serializable() {
    nothing_fails_under("serializable").await;
}

/// The role's default, changed while runtimes run: they find out by themselves.
#[tokio::test]
async fn g6_a_default_that_changes_under_a_running_runtime() {
    let database = Database::new().await;
    let runtimes = [start(&database).await, start(&database).await];
    emit(&database, 60).await;
    set_default(&database, "default_transaction_isolation = 'serializable'").await;
    let mut connection = database.connect().await;
    terminate_all(&mut connection).await;
    emit(&database, 240).await;
    for outbox in &runtimes {
        outbox.drained().await.unwrap();
    }
    for outbox in runtimes {
        outbox.shutdown().await.unwrap();
    }
    assert_eq!(database.rows().await.len(), 300);
    all_are_delivered(&database).await;
}
