//! More nodes than the server has connections for.

use std::time::Duration;

use outbox::sqlx::query;
use outbox::{Lease, OutboxEvent};
use outbox_tests::{Database, Server};

use crate::{emit, sent};

#[derive(OutboxEvent)]
#[outbox(event = "g4.happened")]
struct Happened {}

#[outbox::handler(name = "g4")]
async fn handle(_event: Happened) {}

#[tokio::test]
async fn g4_six_nodes_on_a_server_with_few_connections_start_and_deliver() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let pool = database.pool_with(|options| options.max_connections(1));
    // Six nodes want four each.
    for setting in [
        "ALTER SYSTEM SET max_connections = 14",
        "ALTER SYSTEM SET superuser_reserved_connections = 0",
        "ALTER SYSTEM SET max_wal_senders = 0",
    ] {
        query(setting).execute(&pool).await.unwrap();
    }
    server.restart().await;
    // The test's own connection comes first, and stays.
    query("SELECT 1").execute(&pool).await.unwrap();

    let lease = Lease::default()
        .duration(Duration::from_secs(5))
        .heartbeat_interval(Duration::from_millis(200))
        .heartbeat_failure_tolerance(20);
    let starting: Vec<_> = (0..6)
        .map(|_| {
            let start = outbox::start(pool.clone())
                .only(["g4"])
                .lease(lease)
                .poll_interval(Duration::from_millis(50));
            tokio::spawn(start.into_future())
        })
        .collect();
    let mut nodes = Vec::new();
    for start in starting {
        nodes.push(start.await.unwrap().unwrap());
    }
    for _ in 0..30 {
        emit(&pool, &Happened {}).await;
    }
    // By the nodes that have got connections, also while others wait for theirs.
    outbox_tests::eventually("all are delivered", async || {
        let rows = outbox_tests::rows(&pool).await.unwrap();
        rows.len() == 30 && rows.iter().all(|row| row.processed_at.is_some())
    })
    .await;
    for node in nodes {
        node.shutdown().await.unwrap();
    }
    let rows = sent(&database, 30).await;
    assert!(rows.iter().all(|row| row.retry_count == 0), "{rows:#?}");
}
