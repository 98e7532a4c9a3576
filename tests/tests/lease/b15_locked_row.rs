//! B15: a stranger has a row locked while its attempt is to be settled.

use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, Logged, eventually};
use sqlx::{Connection, PgConnection, query, query_scalar};

use crate::{Stage, all_sent, emit, lease};

#[derive(OutboxEvent)]
#[outbox(event = "b15_locked_row.told")]
struct Told {
    waits: bool,
}

#[outbox::handler(event = "b15_locked_row.told", name = "b15_locked_row")]
async fn told(event: Told, State(stages): State<[Stage; 2]>) {
    let [quick, slow] = stages;
    let stage = if event.waits { slow } else { quick };
    stage.begin();
    stage.pass().await;
}

/// Two records whose attempts run, the first one's row locked: the runtime, the row, the lock.
async fn locked(
    database: &Database,
    stages: &[Stage; 2],
    lease_ms: u64,
) -> (outbox::Outbox, OutboxRecord, PgConnection) {
    emit(database, &[Told { waits: false }, Told { waits: true }]).await;
    let outbox = outbox::start(database.pool())
        .only(["b15_locked_row"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease(lease_ms))
        .state(stages.clone())
        .await
        .unwrap();
    stages[0].begins(1).await;
    stages[1].begins(1).await;
    let mut stranger = database.connect().await;
    query("BEGIN").execute(&mut stranger).await.unwrap();
    query("SELECT FROM outbox_events WHERE payload = '{\"waits\": false}' FOR UPDATE")
        .execute(&mut stranger)
        .await
        .unwrap();
    stages[0].open(1);
    let row = rows(database).await.0;
    (outbox, row, stranger)
}

/// The locked row and the other one.
async fn rows(database: &Database) -> (OutboxRecord, OutboxRecord) {
    let [one, other] = database.rows().await.try_into().unwrap();
    if one.payload["waits"] == true {
        (other, one)
    } else {
        (one, other)
    }
}

#[tokio::test]
async fn b15_a_settle_that_waits_beyond_its_lease_does_not_count() {
    let database = Database::new().await;
    let stages = [Stage::new(), Stage::new()];
    let logged = Logged::here();
    let (outbox, before, stranger) = locked(&database, &stages, 2_000).await;
    let id = before.id.to_string();
    eventually("its result is discarded", async || {
        let lost = logged.with("lost claim");
        lost.iter().any(|entry| entry.contains(&id))
    })
    .await;
    let (row, other) = rows(&database).await;
    assert_eq!(
        row,
        OutboxRecord {
            // A renewal may have come before the lock.
            lease_expires_at: row.lease_expires_at,
            ..before.clone()
        }
    );
    let over = "SELECT lease_expires_at <= clock_timestamp() FROM outbox_events WHERE id = $1";
    let over = async |id| {
        let over = query_scalar::<_, bool>(over).bind(id);
        over.fetch_one(&database.pool()).await.unwrap()
    };
    eventually("its lease is over", async || over(row.id).await).await;
    // The other's renewals went on meanwhile.
    assert!(!over(other.id).await);
    assert_eq!(other.recovery_count, 0);

    stranger.close().await.unwrap();
    stages[0].open(1);
    stages[1].open(1);
    all_sent(&database).await;
    let (row, _) = rows(&database).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        next_attempt_at: row.next_attempt_at,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..before
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!((stages[0].begun(), stages[1].begun()), (2, 1));
}

#[tokio::test]
async fn b15_a_row_that_is_locked_for_a_while_is_not_taken_for_lost() {
    let database = Database::new().await;
    let stages = [Stage::new(), Stage::new()];
    let (outbox, before, stranger) = locked(&database, &stages, 30_000).await;
    // Until after the other has settled, which shows that the settler does not stand still.
    stages[1].open(1);
    eventually("the other is delivered", async || {
        rows(&database).await.1.status == Status::Sent
    })
    .await;
    assert_eq!(rows(&database).await.0.status, Status::Processing);
    stranger.close().await.unwrap();
    all_sent(&database).await;
    let (row, _) = rows(&database).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..before
    };
    assert_eq!(row, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!((stages[0].begun(), stages[1].begun()), (1, 1));
}
