//! B8: a process that looks like a dead one, by host name and process id, inherits nothing.

use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, eventually};
use sqlx::query;

use crate::{Stage, emit, lease};

#[derive(OutboxEvent)]
#[outbox(event = "b8_recovery_by_time.told")]
struct Told {
    first: bool,
}

#[outbox::handler(event = "b8_recovery_by_time.told", name = "b8_recovery_by_time")]
async fn wait(event: Told, State(stage): State<Stage>) {
    stage.begin();
    if event.first {
        stage.pass().await;
    }
}

#[tokio::test]
async fn b8_a_claim_under_ones_own_name_is_recovered_by_its_lease_alone() {
    let database = Database::new().await;
    let stage = Stage::new();
    emit(&database, &[Told { first: true }]).await;
    let outbox = outbox::start(database.pool())
        .only(["b8_recovery_by_time"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease(60_000))
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;

    // Two claims of a dead process of the same name: one about to expire, one far from it.
    query(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, status, claim_token,
           lease_expires_at, claimed_by)
         SELECT event_type, handler, 5, '{\"first\": false}', 'PROCESSING', gen_random_uuid(),
           clock_timestamp() + lease, claimed_by
         FROM outbox_events, (VALUES (interval '2 seconds'), ('1 hour')) leases (lease)",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let first_of = |rows: &[OutboxRecord]| rows.iter().any(|row| row.status == Status::Sent);
    let dead = database.rows().await;
    let rows = eventually("one is delivered", async || {
        let rows = database.rows().await;
        if first_of(&rows) { Ok(rows) } else { Err(rows) }
    })
    .await;

    for (row, dead) in rows.iter().zip(&dead) {
        if row.status == Status::Sent {
            assert!(row.next_attempt_at >= dead.lease_expires_at);
            let sent = OutboxRecord {
                status: Status::Sent,
                claim_token: None,
                lease_expires_at: None,
                claimed_by: None,
                next_attempt_at: row.next_attempt_at,
                updated_at: row.updated_at,
                processed_at: Some(row.updated_at),
                ..dead.clone()
            };
            assert_eq!(*row, sent);
        } else {
            // The live ones of both processes are as they were.
            assert_eq!(row.recovery_count, 0);
            assert_eq!(row.claim_token, dead.claim_token);
        }
    }
    assert_eq!(stage.begun(), 2);
    stage.open(1);
    outbox.shutdown().await.unwrap();
}
