//! H2: the listener's connection is killed; events are emitted before and after it is back.

use outbox::OutboxEvent;
use outbox_tests::{Database, Server, eventually};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "h2.asked")]
struct Asked;

#[outbox::handler(event = "h2.asked", name = "h2")]
async fn asked(_: Asked) {}

const LISTENERS: &str = "FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%'";

async fn listeners(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) {LISTENERS}")))
        .fetch_one(connection)
        .await
        .unwrap()
}

async fn allow_connections(database: &Database, allow: bool) {
    let mut elsewhere = PgConnection::connect(&Server::shared().url("postgres"))
        .await
        .unwrap();
    let name = database.name();
    sqlx::raw_sql(AssertSqlSafe(format!(
        "ALTER DATABASE {name} ALLOW_CONNECTIONS {allow}"
    )))
    .execute(&mut elsewhere)
    .await
    .unwrap();
    elsewhere.close().await.unwrap();
}

#[tokio::test]
async fn h2_nothing_is_missed_in_the_gap() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    let outbox = outbox::start(database.pool())
        .only(["h2"])
        .poll_interval(NEVER)
        .await
        .unwrap();
    let emitted = database.emit(&Asked).await;
    delivered(&database, &emitted).await;
    eventually("the runtime listens", async || {
        listeners(&mut connection).await == 1
    })
    .await;

    // It can't come back before it is let.
    allow_connections(&database, false).await;
    sqlx::query(AssertSqlSafe(format!(
        "SELECT pg_terminate_backend(pid) {LISTENERS}"
    )))
    .execute(&mut connection)
    .await
    .unwrap();
    eventually("the listener is gone", async || {
        listeners(&mut connection).await == 0
    })
    .await;
    let mut tx = connection.begin().await.unwrap();
    let id = outbox::emit(&mut tx, &Asked).await.unwrap();
    let mut rows = outbox_tests::rows(&mut *tx).await.unwrap().into_iter();
    let in_the_gap = rows.find(|row| row.event_id == id).unwrap();
    tx.commit().await.unwrap();
    assert_eq!(listeners(&mut connection).await, 0);
    allow_connections(&database, true).await;
    delivered(&database, &in_the_gap).await;

    eventually("the runtime listens again", async || {
        listeners(&mut connection).await == 1
    })
    .await;
    let after = database.emit(&Asked).await;
    delivered(&database, &after).await;
    outbox.shutdown().await.unwrap();
}
