//! Records that lost their leases before: one at a time, but one after the other.

use std::time::Duration;

use outbox::{OutboxEvent, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Runs, execute};

#[derive(OutboxEvent)]
#[outbox(event = "suspects.told")]
struct Told {}

#[outbox::handler(event = "suspects.told", name = "suspects")]
async fn told(_: Told, State(runs): State<Runs>) {
    runs.add();
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn the_next_one_follows_at_once_however_long_the_poll_interval() {
    let database = Database::new().await;
    execute(
        &database,
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, recovery_count)
         SELECT 'suspects.told', 'suspects', 5, '{}', 2 FROM generate_series(1, 5)",
    )
    .await;
    let runs = Runs::default();
    let outbox = outbox::start(database.pool())
        .only(["suspects"])
        .poll_interval(Duration::from_hours(1))
        .state(runs.clone())
        .await
        .unwrap();
    eventually("all are delivered", async || {
        let rows = database.rows().await;
        let running = rows.iter().filter(|row| row.status == Status::Processing);
        assert!(running.count() <= 1, "one at a time");
        let sent = rows.iter().filter(|row| row.status == Status::Sent).count();
        if sent == 5 { Ok(()) } else { Err(sent) }
    })
    .await;
    assert_eq!(runs.count(), 5);
    outbox.shutdown().await.unwrap();
}
