//! A database per test.

use outbox_tests::{Database, Server, eventually};
use sqlx::{Connection, query, query_scalar};

#[tokio::test]
async fn each_is_migrated_and_its_own() {
    let (one, other) = tokio::join!(Database::new(), Database::new());
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('a', '1')")
        .execute(&one.pool())
        .await
        .unwrap();
    assert_eq!(one.rows().await.len(), 1);
    assert_eq!(other.rows().await, []);
}

#[tokio::test]
async fn goes_with_its_value_though_connected() {
    let database = Database::empty().await;
    let name = database.name().to_owned();
    let _held = database.connect().await;
    drop(database);

    let url = Server::shared().url("postgres");
    let mut admin = sqlx::PgConnection::connect(&url).await.unwrap();
    eventually("the database is dropped", async || {
        let exists = "SELECT NOT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
        query_scalar::<_, bool>(exists)
            .bind(&name)
            .fetch_one(&mut admin)
            .await
    })
    .await;
}

#[tokio::test]
async fn its_statements_can_be_read_from_the_log() {
    let database = Database::empty().await;
    database.log_statements().await;
    let mark = database.log_mark();
    query("SELECT 1,\n 2")
        .execute(&database.pool())
        .await
        .unwrap();
    let log = eventually("the statement is logged", async || {
        let log = database.log_since(mark);
        log.iter()
            .find(|entry| entry.contains("SELECT 1,\n 2"))
            .cloned()
            .ok_or(log)
    })
    .await;
    assert!(log.starts_with(&format!("[{}]", database.name())));
}
