//! What happens to a handler whose claim was lost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use outbox::{Context, OutboxEvent, State};
use outbox_tests::{Database, Logged, eventually};

use crate::{Stage, change, emit, lease, only};

#[derive(OutboxEvent)]
#[outbox(event = "cancel_grace.told")]
struct Told {
    tidy: bool,
}

struct OnDrop(Stage);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[outbox::handler(event = "cancel_grace.told", name = "cancel_grace")]
async fn told(event: Told, context: Context, State(stage): State<Stage>) {
    let _dropped = OnDrop(stage.clone());
    stage.begin();
    if !event.tidy {
        std::future::pending::<()>().await;
    }
    context.cancelled().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    stage.0.cancelled.fetch_add(1, Ordering::SeqCst);
}

/// Loses a claim while its handler runs, with so much time to tidy up.
async fn lose(tidy: bool, grace: Duration) -> Stage {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    emit(&database, &[Told { tidy }]).await;
    let outbox = outbox::start(database.pool())
        .only(["cancel_grace"])
        .lease(
            lease(60_000)
                .heartbeat_interval(Duration::from_millis(100))
                .heartbeat_failure_tolerance(400),
        )
        .cancel_grace(grace)
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;
    // As another node leaves it that has recovered and claimed it.
    change(
        &database,
        "claim_token = gen_random_uuid(), claimed_by = 'another'",
    )
    .await;
    let taken = only(&database).await;
    eventually("the handler is dropped", async || {
        stage.0.dropped.load(Ordering::SeqCst) == 1
    })
    .await;
    eventually("the loss is told", async || {
        let told = logged.with("lost claim");
        told.iter()
            .any(|entry| entry.contains(&taken.id.to_string()))
    })
    .await;
    outbox.shutdown().await.unwrap();
    assert_eq!(only(&database).await, taken);
    stage
}

#[tokio::test]
async fn a_handler_has_time_to_tidy_up_and_its_result_counts_for_nothing() {
    let stage = lose(true, Duration::from_mins(1)).await;
    assert_eq!(stage.0.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_handler_that_does_not_listen_is_dropped_after_its_grace() {
    let stage = lose(false, Duration::from_millis(100)).await;
    assert_eq!(stage.0.cancelled.load(Ordering::SeqCst), 0);
}

#[derive(OutboxEvent)]
#[outbox(event = "cancel_grace.refused")]
struct Refused {
    lost: bool,
}

#[derive(Debug)]
struct Explosive;

impl std::fmt::Display for Explosive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("explosive")
    }
}

impl std::error::Error for Explosive {}

impl Drop for Explosive {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[outbox::handler(event = "cancel_grace.refused", name = "cancel_grace_refused")]
async fn refused(
    event: Refused,
    context: Context,
    State(stage): State<Stage>,
) -> Result<(), Explosive> {
    stage.begin();
    if event.lost {
        context.cancelled().await;
        // Not at once: the result is to come within the grace.
        tokio::time::sleep(Duration::from_millis(20)).await;
        return Err(Explosive);
    }
    Ok(())
}

/// The result that counts for nothing is dropped, and what its destructor does costs no slot.
#[tokio::test]
async fn a_late_result_whose_destructor_panics_leaves_its_slot() {
    let database = Database::new().await;
    let stage = Stage::new();
    emit(&database, &[Refused { lost: true }]).await;
    let outbox = outbox::start(database.pool())
        .only(["cancel_grace_refused"])
        .concurrency(1)
        .lease(
            lease(60_000)
                .heartbeat_interval(Duration::from_millis(100))
                .heartbeat_failure_tolerance(400),
        )
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;
    change(
        &database,
        "claim_token = gen_random_uuid(), claimed_by = 'another'",
    )
    .await;
    emit(&database, &[Refused { lost: false }]).await;
    stage.begins(2).await;
    outbox.shutdown().await.unwrap();
}
