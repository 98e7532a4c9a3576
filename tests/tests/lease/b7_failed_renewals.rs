//! B7: renewals that fail, as often as is tolerated and once more.

use std::sync::atomic::Ordering;
use std::time::Duration;

use outbox::{Context, Lease, Outbox, OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, LogMark, Logged, eventually};
use sqlx::{Connection, PgConnection, query};

use crate::{Stage, all_sent, emit, lease, only};

#[derive(OutboxEvent)]
#[outbox(event = "b7_failed_renewals.told")]
struct Told {}

/// Waits for the test or for the end of its claim.
#[outbox::handler(event = "b7_failed_renewals.told", name = "b7_failed_renewals")]
async fn wait(_: Told, context: Context, State(stage): State<Stage>) {
    stage.begin();
    tokio::select! {
        () = stage.pass() => {}
        () = context.cancelled() => {
            stage.0.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn start(database: &Database, lease: Lease, stage: &Stage) -> Outbox {
    emit(database, &[Told {}]).await;
    let outbox = outbox::start(database.pool())
        .only(["b7_failed_renewals"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease)
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;
    outbox
}

/// Lets every write wait, while reads pass.
async fn freeze(database: &Database) -> PgConnection {
    let mut stranger = database.connect().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE outbox_events IN EXCLUSIVE MODE")
        .execute(&mut stranger)
        .await
        .unwrap();
    stranger
}

/// How many renewals the server has ended for taking too long.
fn failed(database: &Database, since: LogMark) -> usize {
    let log = database.log_since(since);
    let ended = log
        .iter()
        .filter(|entry| entry.contains("statement timeout"));
    ended.count()
}

#[tokio::test]
async fn b7_what_is_tolerated_aborts_and_charges_nothing() {
    let database = Database::new().await;
    let stage = Stage::new();
    // Twenty failures would have to come in a row.
    let lease = lease(12_000)
        .heartbeat_interval(Duration::from_millis(500))
        .heartbeat_failure_tolerance(20);
    let outbox = start(&database, lease, &stage).await;
    let before = only(&database).await;
    let mark = database.log_mark();
    let stranger = freeze(&database).await;
    eventually("renewals fail", async || failed(&database, mark) >= 2).await;
    stranger.close().await.unwrap();

    let expired = before.lease_expires_at;
    eventually("the lease is renewed again", async || {
        only(&database).await.lease_expires_at > expired
    })
    .await;
    let after = only(&database).await;
    let expected = OutboxRecord {
        lease_expires_at: after.lease_expires_at,
        ..before
    };
    assert_eq!(after, expected);

    stage.open(1);
    let [sent] = all_sent(&database).await.try_into().unwrap();
    let expected = OutboxRecord {
        status: Status::Sent,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        updated_at: sent.updated_at,
        processed_at: Some(sent.updated_at),
        ..after
    };
    assert_eq!(sent, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!(
        (stage.begun(), stage.0.cancelled.load(Ordering::SeqCst)),
        (1, 0)
    );
}

#[tokio::test]
async fn b7_one_more_cancels_the_handler_and_discards_its_result() {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    let lease = lease(10_000)
        .heartbeat_interval(Duration::from_secs(1))
        .heartbeat_failure_tolerance(2);
    let outbox = start(&database, lease, &stage).await;
    let mark = database.log_mark();
    let stranger = freeze(&database).await;
    eventually("the handler is cancelled", async || {
        stage.0.cancelled.load(Ordering::SeqCst) == 1
    })
    .await;
    eventually("three failed", async || failed(&database, mark) == 3).await;
    let abandoned = only(&database).await;
    eventually("the loss is told", async || {
        let told = logged.with("lost claim");
        told.iter()
            .any(|entry| entry.contains(&abandoned.id.to_string()))
    })
    .await;
    stranger.close().await.unwrap();

    // Its result counted for nothing: it is delivered again when its lease has run out.
    stage.begins(2).await;
    stage.open(1);
    let [sent] = all_sent(&database).await.try_into().unwrap();
    assert!(sent.next_attempt_at >= abandoned.lease_expires_at);
    let expected = OutboxRecord {
        status: Status::Sent,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        next_attempt_at: sent.next_attempt_at,
        updated_at: sent.updated_at,
        processed_at: Some(sent.updated_at),
        ..abandoned
    };
    assert_eq!(sent, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!((stage.begun(), failed(&database, mark)), (2, 3));
}

#[tokio::test]
async fn b7_a_lease_that_runs_out_first_cancels_the_handler() {
    let database = Database::new().await;
    let stage = Stage::new();
    // The second failure, which would be one too many, could be known only after the lease.
    let lease = lease(2_000).heartbeat_interval(Duration::from_millis(950));
    let outbox = start(&database, lease, &stage).await;
    let stranger = freeze(&database).await;
    eventually("the handler is cancelled", async || {
        stage.0.cancelled.load(Ordering::SeqCst) == 1
    })
    .await;
    stranger.close().await.unwrap();
    stage.begins(2).await;
    stage.open(1);
    all_sent(&database).await;
    outbox.shutdown().await.unwrap();
    assert_eq!(stage.begun(), 2);
}

#[tokio::test]
async fn b7_a_role_that_may_not_log_in_any_more_loses_its_claims() {
    let database = Database::new().await;
    // Roles belong to the whole server: this one has the database's name.
    let role = format!("b7_{}", database.name());
    let mut operator = database.connect().await;
    let run = async |operator: &mut PgConnection, sql: String| {
        let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(operator);
        done.await.unwrap();
    };
    let grants = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    run(
        &mut operator,
        format!("CREATE ROLE {role} LOGIN; GRANT {grants} TO {role}"),
    )
    .await;
    let stage = Stage::new();
    emit(&database, &[Told {}]).await;
    let pool = sqlx::PgPool::connect_lazy_with(database.connect_options().username(&role));
    let outbox = outbox::start(pool)
        .only(["b7_failed_renewals"])
        .lease(lease(2_000))
        .listen(false)
        .state(stage.clone())
        .await
        .unwrap();
    stage.begins(1).await;
    run(&mut operator, format!("ALTER ROLE {role} NOLOGIN")).await;
    query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1")
        .bind(&role)
        .execute(&mut operator)
        .await
        .unwrap();
    eventually("the handler is cancelled", async || {
        stage.0.cancelled.load(Ordering::SeqCst) == 1
    })
    .await;
    run(&mut operator, format!("ALTER ROLE {role} LOGIN")).await;
    stage.begins(2).await;
    stage.open(1);
    all_sent(&database).await;
    outbox.shutdown().await.unwrap();
    run(
        &mut operator,
        format!("DROP OWNED BY {role}; DROP ROLE {role}"),
    )
    .await;
}
