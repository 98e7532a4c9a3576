//! What was rolled back is delivered to nobody.

use std::sync::{Arc, Mutex};

use outbox::{OutboxEvent, State};
use outbox_tests::Database;

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "rolled_back.asked")]
struct Asked(u32);

#[outbox::handler(event = "rolled_back.asked", name = "rolled_back")]
async fn asked(event: Asked, State(seen): State<Arc<Mutex<Vec<u32>>>>) {
    seen.lock().unwrap().push(event.0);
}

#[tokio::test]
async fn neither_a_transaction_nor_a_part_of_one() {
    let database = Database::new().await;
    let seen = Arc::new(Mutex::new(Vec::<u32>::new()));
    let outbox = outbox::start(database.pool())
        .only(["rolled_back"])
        .poll_interval(NEVER)
        .state(Arc::clone(&seen))
        .await
        .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit(&mut tx, &Asked(1)).await.unwrap();
    tx.rollback().await.unwrap();

    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit(&mut tx, &Asked(2)).await.unwrap();
    let mut part = sqlx::Acquire::begin(&mut tx).await.unwrap();
    outbox::emit(&mut part, &Asked(3)).await.unwrap();
    part.rollback().await.unwrap();
    let emitted = outbox_tests::rows(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();

    assert_eq!(emitted.len(), 1);
    delivered(&database, &emitted[0]).await;
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [2]);
    assert_eq!(database.rows().await.len(), 1);
}
