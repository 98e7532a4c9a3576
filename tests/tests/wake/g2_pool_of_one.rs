//! G2, G3: the application's pool has one connection.

use std::time::Duration;

use outbox::OutboxEvent;
use outbox::sqlx::PgPool;
use outbox_tests::{Database, eventually};

use crate::{NEVER, delivered};

#[derive(OutboxEvent)]
#[outbox(event = "g2.asked")]
struct Asked {
    uses_the_pool: bool,
}

#[outbox::handler(event = "g2.asked", name = "g2", max_retries = 1)]
async fn asked(event: Asked, pool: PgPool) -> Result<(), sqlx::Error> {
    if event.uses_the_pool {
        let mut tx = pool.begin().await?;
        sqlx::query("INSERT INTO used VALUES (1)")
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        sqlx::query("INSERT INTO used VALUES (2)")
            .execute(&pool)
            .await?;
    }
    Ok(())
}

/// The pool of one, which waits long enough for a machine that is busy.
fn pool_of_one(database: &Database) -> PgPool {
    database.pool_with(|options| {
        options
            .max_connections(1)
            .acquire_timeout(Duration::from_mins(1))
    })
}

#[tokio::test]
async fn g2_handlers_may_use_it_twice_each_all_at_once() {
    let database = Database::new().await;
    sqlx::query("CREATE TABLE used (time int)")
        .execute(&database.pool())
        .await
        .unwrap();
    let outbox = outbox::start(pool_of_one(&database))
        .only(["g2"])
        .concurrency(8)
        .poll_interval(NEVER)
        .await
        .unwrap();
    let events: Vec<Asked> = (0..40)
        .map(|_| Asked {
            uses_the_pool: true,
        })
        .collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    let emitted = outbox_tests::rows(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    for row in &emitted {
        delivered(&database, row).await;
    }
    outbox.shutdown().await.unwrap();
    let used: i64 = sqlx::query_scalar("SELECT count(*) FROM used")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!((emitted.len(), used), (40, 80));
}

#[tokio::test]
async fn g3_the_runtime_needs_none_of_it() {
    let database = Database::new().await;
    let pool = pool_of_one(&database);
    let mut taken = pool.begin().await.unwrap();
    // It starts, listens, claims, settles and ends while somebody has the only connection.
    let outbox = outbox::start(pool.clone())
        .only(["g2"])
        .poll_interval(NEVER)
        .await
        .unwrap();
    eventually("the runtime listens", async || {
        sqlx::query_scalar::<_, bool>(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN%')",
        )
        .fetch_one(&database.pool())
        .await
        .unwrap()
    })
    .await;
    let emitted = database
        .emit(&Asked {
            uses_the_pool: false,
        })
        .await;
    delivered(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
    sqlx::query("SELECT 1").execute(&mut *taken).await.unwrap();
    taken.commit().await.unwrap();
    assert_eq!(pool.size(), 1);
}
