//! Shutdown without a server.

use std::time::Duration;

use outbox::sqlx::query;
use outbox::{Lease, OutboxEvent, ShutdownError, State, Status};
use outbox_tests::{Database, Server};

use crate::{Gate, emit, record, record_is};

#[derive(OutboxEvent)]
#[outbox(event = "server_gone.happened")]
struct Happened {}

#[outbox::handler(name = "server_gone")]
async fn handle(_event: Happened, gate: State<Gate>) {
    gate.pass().await;
}

#[tokio::test]
async fn claims_that_could_not_be_released_are_an_error_and_end_with_their_leases() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let pool = database.pool();
    let gate = Gate::closed();
    // Renewals that fail don't end the claim before the lease does.
    let lease = Lease::default()
        .duration(Duration::from_secs(15))
        .heartbeat_interval(Duration::from_secs(1))
        .heartbeat_failure_tolerance(13);
    let start = || {
        outbox::start(pool.clone())
            .only(["server_gone"])
            .lease(lease)
            .poll_interval(Duration::from_millis(50))
            .shutdown_timeout(Duration::ZERO)
            .cancel_grace(Duration::ZERO)
            .state(gate.clone())
    };
    let outbox = start().await.unwrap();
    let id = emit(&pool, &Happened {}).await;
    gate.arrivals(1).await;
    let claimed = record(&database, id).await;
    assert_eq!(claimed.status, Status::Processing);
    // What has reached no file does not come back with the server.
    query("CHECKPOINT").execute(&pool).await.unwrap();
    server.stop().await;

    let error = outbox.shutdown().await.unwrap_err();
    assert!(
        matches!(error, ShutdownError::Unreleased { claims: 1, .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "1 claims could not be released; they end with their leases"
    );
    let again = outbox.shutdown().await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string());

    server.start().await;
    gate.let_through(1);
    let other = start().await.unwrap();
    let row = record_is(&database, id, Status::Sent).await;
    assert_eq!(
        (row.id, row.retry_count, row.recovery_count),
        (claimed.id, 0, 0)
    );
    assert_eq!(gate.arrived(), 2);
    assert!(row.updated_at > claimed.lease_expires_at.unwrap());
    other.shutdown().await.unwrap();
}

#[tokio::test]
async fn without_claims_in_hand_it_is_no_error() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let outbox = outbox::start(database.pool())
        .only(["server_gone"])
        .shutdown_timeout(Duration::ZERO)
        .state(Gate::closed())
        .await
        .unwrap();
    server.stop().await;
    outbox.shutdown().await.unwrap();
}
