//! H1: the server stops as in a crash, and starts again.

use std::sync::Arc;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, Server};
use tokio::sync::Semaphore;

use crate::{NEVER, sent};

#[derive(OutboxEvent)]
#[outbox(event = "h1_restart.asked")]
struct Asked;

#[outbox::handler(event = "h1_restart.asked", name = "h1_restart")]
async fn asked(_: Asked, State(gate): State<Arc<Semaphore>>) {
    gate.acquire().await.unwrap().forget();
}

/// Emits so that the commit survives the crash.
async fn emit(database: &Database) -> OutboxRecord {
    let mut tx = database.pool().begin().await.unwrap();
    sqlx::query("SET LOCAL synchronous_commit = on")
        .execute(&mut *tx)
        .await
        .unwrap();
    let id = outbox::emit(&mut tx, &Asked).await.unwrap();
    let mut rows = outbox_tests::rows(&mut *tx).await.unwrap().into_iter();
    let emitted = rows.find(|row| row.event_id == id).unwrap();
    tx.commit().await.unwrap();
    emitted
}

#[tokio::test]
async fn h1_an_attempt_outlives_the_restart_and_its_result_is_stored() {
    let server = tokio::task::spawn_blocking(|| Server::launch().unwrap())
        .await
        .unwrap();
    let database = Database::on(&server).await;
    // A claim that the crash forgets would be claimed and delivered again, and rightly so; here it
    // is to be remembered.
    let sql = format!(
        "ALTER DATABASE {} SET synchronous_commit = on",
        database.name()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
        .execute(&database.pool())
        .await
        .unwrap();
    let gate = Arc::new(Semaphore::new(0));
    let outbox = outbox::start(database.pool_with(|options| options))
        .only(["h1_restart"])
        .poll_interval(NEVER)
        .state(Arc::clone(&gate))
        .await
        .unwrap();
    let running = emit(&database).await;
    database
        .row_when(running.id, |row| row.status == Status::Processing)
        .await;
    server.stop().await;
    // The attempt ends while there is no server to tell.
    gate.add_permits(1);
    server.start().await;
    let row = database.row_when_ended(running.id).await;
    assert_eq!(row, sent(&running, &row));

    gate.add_permits(1);
    let after = emit(&database).await;
    let row = database.row_when_ended(after.id).await;
    assert_eq!(row, sent(&after, &row));
    outbox.shutdown().await.unwrap();
    // Each ran once.
    assert_eq!(gate.available_permits(), 0);
}
