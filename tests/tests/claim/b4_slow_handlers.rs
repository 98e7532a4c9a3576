//! B4: slow handlers behind each other, batches larger than what runs at once, short leases.

use std::time::Duration;

use outbox::{Lease, OutboxEvent, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Runs, emit};

#[derive(OutboxEvent)]
#[outbox(event = "b4_slow_handlers.told")]
struct Told {}

#[outbox::handler(event = "b4_slow_handlers.told", name = "b4_slow_handlers")]
async fn slow(_: Told, State(runs): State<Runs>) {
    runs.add();
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[tokio::test]
async fn b4_each_is_delivered_once_and_none_is_claimed_ahead() {
    let database = Database::new().await;
    let runs = Runs::default();
    let told: Vec<Told> = (0..10).map(|_| Told {}).collect();
    emit(&database, &told).await;
    let start = async || {
        outbox::start(database.pool())
            .only(["b4_slow_handlers"])
            .poll_interval(Duration::from_millis(50))
            .batch_size(20)
            .concurrency(1)
            .lease(Lease::default().duration(Duration::from_secs(2)))
            .state(runs.clone())
            .await
            .unwrap()
    };
    let nodes = [start().await, start().await];
    let rows = eventually("all are delivered", async || {
        let rows = database.rows().await;
        let claimed = rows.iter().filter(|row| row.status == Status::Processing);
        let claimed = claimed.count();
        assert!(claimed <= 2, "one for each node, not {claimed}");
        let sent = rows.iter().all(|row| row.status == Status::Sent);
        sent.then_some(rows)
    })
    .await;
    for row in rows {
        assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    }
    assert_eq!(runs.count(), 10);
    for node in nodes {
        node.shutdown().await.unwrap();
    }
}
