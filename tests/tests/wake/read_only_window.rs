//! For a while the database takes no writes, as around a failover.

use std::sync::Arc;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, eventually};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::Semaphore;

use crate::{NEVER, delivered, sent, terminate_all};

#[derive(OutboxEvent)]
#[outbox(event = "read_only.asked")]
struct Asked;

#[outbox::handler(event = "read_only.asked", name = "read_only")]
async fn asked(_: Asked, State(gate): State<Arc<Semaphore>>) {
    gate.acquire().await.unwrap().forget();
}

async fn set_read_only(database: &Database, connection: &mut PgConnection, on: bool) {
    let name = database.name();
    let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}");
    let mut tx = connection.begin_with("BEGIN READ WRITE").await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn claims_and_settles_wait_for_its_end() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    let gate = Arc::new(Semaphore::new(0));
    let outbox = outbox::start(database.pool_with(|options| options))
        .only(["read_only"])
        .poll_interval(NEVER)
        .state(Arc::clone(&gate))
        .await
        .unwrap();
    let running = database.emit(&Asked).await;
    database
        .row_when(running.id, |row| row.status == Status::Processing)
        .await;

    set_read_only(&database, &mut connection, true).await;
    let mark = database.log_mark();
    terminate_all(&mut connection).await;
    // A result that can't be stored, and an event that can't be claimed.
    gate.add_permits(2);
    let mut tx = connection.begin_with("BEGIN READ WRITE").await.unwrap();
    let id = outbox::emit(&mut tx, &Asked).await.unwrap();
    let mut rows = outbox_tests::rows(&mut *tx).await.unwrap().into_iter();
    let waiting = rows.find(|row| row.event_id == id).unwrap();
    tx.commit().await.unwrap();
    let refused = |verb: &str| {
        let log = database.log_since(mark);
        log.iter()
            .any(|line| line.contains(&format!("cannot execute {verb} in a read-only")))
    };
    eventually("writes are refused", async || {
        refused("UPDATE") || refused("SELECT FOR UPDATE")
    })
    .await;
    let row = database.row(running.id).await;
    let expected = OutboxRecord {
        status: Status::Processing,
        claim_token: row.claim_token,
        claimed_by: row.claimed_by.clone(),
        lease_expires_at: row.lease_expires_at,
        updated_at: row.updated_at,
        ..running.clone()
    };
    assert_eq!(row, expected);
    assert_eq!(database.row(waiting.id).await, waiting);

    set_read_only(&database, &mut connection, false).await;
    let row = database.row_when_ended(running.id).await;
    assert_eq!(row, sent(&running, &row));
    delivered(&database, &waiting).await;
    // Each ran once.
    assert_eq!(gate.available_permits(), 0);
    outbox.shutdown().await.unwrap();
}
