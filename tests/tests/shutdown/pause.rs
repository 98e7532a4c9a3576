//! A pause stops claims, and nothing else.

use std::time::Duration;

use outbox::sqlx::query;
use outbox::{Lease, Outbox, OutboxEvent, State, Status};
use outbox_tests::{Database, eventually};

use crate::{Gate, emit, record, record_is};

#[derive(OutboxEvent)]
#[outbox(event = "pause.happened")]
struct Happened {}

#[outbox::handler(name = "pause")]
async fn handle(_event: Happened, gate: State<Gate>) {
    gate.pass().await;
}

#[derive(OutboxEvent)]
#[outbox(event = "pause.beside")]
struct Beside {}

#[outbox::handler(name = "pause_beside")]
async fn beside(_event: Beside) {}

const LEASE: Duration = Duration::from_secs(4);

async fn start(database: &Database, gate: &Gate) -> (Outbox, Outbox) {
    // A busy machine may miss some renewals in a row, but not all of a lease.
    let lease = Lease::default()
        .duration(LEASE)
        .heartbeat_interval(Duration::from_millis(500))
        .heartbeat_failure_tolerance(6);
    let paused = outbox::start(database.pool())
        .only(["pause"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease)
        .state(gate.clone())
        .await
        .unwrap();
    let other = outbox::start(database.pool())
        .only(["pause_beside"])
        .await
        .unwrap();
    (paused, other)
}

/// Another runtime has claimed, run and settled something meanwhile.
async fn a_while(database: &Database) {
    let id = emit(&database.pool(), &Beside {}).await;
    record_is(database, id, Status::Sent).await;
}

#[tokio::test]
async fn claims_stop_until_resume() {
    let database = Database::new().await;
    let gate = Gate::closed();
    gate.let_through(100);
    let (outbox, other) = start(&database, &gate).await;
    record_is(
        &database,
        emit(&database.pool(), &Happened {}).await,
        Status::Sent,
    )
    .await;

    outbox.pause();
    outbox.pause();
    // A claim that was under way is through after this.
    a_while(&database).await;
    let id = emit(&database.pool(), &Happened {}).await;
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('pause.happened', '{}')")
        .execute(&database.pool())
        .await
        .unwrap();
    let before = database.rows().await;
    for _ in 0..5 {
        a_while(&database).await;
    }
    let after = database.rows().await;
    assert!(
        before.iter().all(|row| after.contains(row)),
        "{before:#?}\n{after:#?}"
    );

    outbox.resume();
    record_is(&database, id, Status::Sent).await;
    outbox.drained().await.unwrap();
    assert_eq!(gate.arrived(), 3);
    for outbox in [outbox, other] {
        outbox.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn heartbeats_settles_and_recovery_go_on() {
    let database = Database::new().await;
    let pool = database.pool();
    let gate = Gate::closed();
    let (outbox, other) = start(&database, &gate).await;
    let id = emit(&pool, &Happened {}).await;
    gate.arrivals(1).await;
    let claimed = record_is(&database, id, Status::Processing).await;
    outbox.pause();
    a_while(&database).await;

    eventually(
        "the claim outlives its first lease by renewals",
        async || {
            let row = record(&database, id).await;
            assert_eq!(
                (row.status, row.claim_token),
                (Status::Processing, claimed.claim_token)
            );
            let renewed = row.lease_expires_at.unwrap() - claimed.lease_expires_at.unwrap();
            renewed.to_std().is_ok_and(|renewed| renewed > LEASE)
        },
    )
    .await;

    // Whose owner is gone becomes due again, and waits.
    let lost = emit(&pool, &Happened {}).await;
    query(
        "UPDATE outbox_events SET status = 'PROCESSING', claim_token = gen_random_uuid(),
           lease_expires_at = clock_timestamp() - interval '1 second' WHERE event_id = $1",
    )
    .bind(lost)
    .execute(&pool)
    .await
    .unwrap();
    let recovered = record_is(&database, lost, Status::Pending).await;
    assert_eq!((recovered.retry_count, recovered.recovery_count), (0, 1));

    gate.let_through(2);
    record_is(&database, id, Status::Sent).await;
    assert_eq!(record(&database, lost).await, recovered);
    outbox.resume();
    record_is(&database, lost, Status::Sent).await;
    for outbox in [outbox, other] {
        outbox.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_paused_outbox_shuts_down() {
    let database = Database::new().await;
    let gate = Gate::closed();
    let (outbox, other) = start(&database, &gate).await;
    let id = emit(&database.pool(), &Happened {}).await;
    gate.arrivals(1).await;
    outbox.pause();
    gate.let_through(1);
    outbox.shutdown().await.unwrap();
    assert_eq!(record(&database, id).await.status, Status::Sent);
    other.shutdown().await.unwrap();
}
