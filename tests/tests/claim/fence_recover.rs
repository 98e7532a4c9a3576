//! A recovery takes what nobody keeps any more, and nothing else.

use outbox::chrono::{DateTime, Utc};
use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{
    StoppedClock, change, claimed, clock, impatient, is_locked, lock, locks_in_order, query_of,
    row, unchecked,
};

const EXPIRED: &str = "lease_expires_at = clock_timestamp() - interval '1 ms'";

/// What a recovery of the handler `name` gave back and gave up.
#[derive(Debug, Default, PartialEq)]
struct Recovered {
    requeued: Vec<Uuid>,
    failed: Vec<Uuid>,
}

async fn recover(
    connection: &mut PgConnection,
    max_recoveries: Option<i32>,
) -> sqlx::Result<Recovered> {
    let until: DateTime<Utc> = "9999-12-31T00:00:00Z".parse().unwrap();
    let recovered = query_of!("recover")
        .bind(["name"])
        .bind([DateTime::<Utc>::UNIX_EPOCH])
        .bind([Uuid::nil()])
        .bind([until])
        .bind(1_000)
        .bind(max_recoveries)
        .bind("channel");
    let row = recovered.fetch_one(connection).await?;
    let ids = |column| row.get::<Option<Vec<Uuid>>, _>(column).unwrap_or_default();
    Ok(Recovered {
        requeued: ids("requeued"),
        failed: ids("failed"),
    })
}

#[tokio::test]
async fn an_expired_one_is_due_at_once_and_no_attempt_is_charged() {
    let database = Database::new().await;
    for (count, max) in [(0, Some(10)), (8, Some(10)), (1_000, None)] {
        let id = claimed(&database, Uuid::now_v7()).await;
        change(
            &database,
            id,
            &format!("{EXPIRED}, recovery_count = {count}"),
        )
        .await;
        let before = row(&database, id).await;
        let mut other = impatient(&database).await;
        query("BEGIN").execute(&mut other).await.unwrap();
        let later = clock(&database).await;
        let recovered = recover(&mut other, max).await.unwrap();
        query("COMMIT").execute(&mut other).await.unwrap();
        assert_eq!((recovered.requeued, recovered.failed), (vec![id], vec![]));
        let after = row(&database, id).await;
        assert!(after.updated_at >= later);
        let expected = OutboxRecord {
            status: Status::Pending,
            recovery_count: count + 1,
            next_attempt_at: Some(after.updated_at),
            updated_at: after.updated_at,
            claim_token: None,
            lease_expires_at: None,
            claimed_by: None,
            ..before
        };
        assert_eq!(after, expected);
    }
}

#[tokio::test]
async fn one_that_loses_its_last_lease_is_failed_and_says_why() {
    let database = Database::new().await;
    for (count, then) in [(9, 10), (41, 42), (i32::MAX, i32::MAX)] {
        let id = claimed(&database, Uuid::now_v7()).await;
        change(
            &database,
            id,
            &format!("{EXPIRED}, recovery_count = {count}"),
        )
        .await;
        let before = row(&database, id).await;
        let mut other = impatient(&database).await;
        let recovered = recover(&mut other, Some(10)).await.unwrap();
        assert_eq!((recovered.requeued, recovered.failed), (vec![], vec![id]));
        let after = row(&database, id).await;
        let error = after.last_error.clone().unwrap();
        let lost = i64::from(count) + 1;
        assert!(error.contains(&format!("lost {lost} times")), "{error}");
        assert!(error.contains("last claimed by a worker"), "{error}");
        let expected = OutboxRecord {
            status: Status::Failed,
            recovery_count: then,
            last_error: Some(error),
            updated_at: after.updated_at,
            processed_at: Some(after.updated_at),
            failed_at: Some(after.updated_at),
            claim_token: None,
            lease_expires_at: None,
            claimed_by: None,
            ..before
        };
        assert_eq!(after, expected);
    }
}

#[tokio::test]
async fn a_live_claim_is_neither_taken_nor_locked() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    let before = row(&database, id).await;
    let mut other = impatient(&database).await;
    query("BEGIN").execute(&mut other).await.unwrap();
    let recovered = recover(&mut other, Some(10)).await.unwrap();
    assert_eq!(recovered, Recovered::default());
    // Its owner's renewal would pass a locked row over.
    assert!(!is_locked(&database, id).await);
    query("COMMIT").execute(&mut other).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn another_handlers_record_is_left_to_who_runs_it() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    change(&database, id, &format!("{EXPIRED}, handler = 'another'")).await;
    let before = row(&database, id).await;
    let mut other = impatient(&database).await;
    let recovered = recover(&mut other, Some(10)).await.unwrap();
    assert_eq!(recovered, Recovered::default());
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn b13_what_is_not_processing_is_neither_taken_nor_locked() {
    let database = Database::new().await;
    unchecked(&database).await;
    for status in ["FAILED", "SENT", "PENDING"] {
        // Also one that never got the time of its end.
        for processed_at in ["now()", "NULL"] {
            let id = claimed(&database, Uuid::now_v7()).await;
            let odd = format!("{EXPIRED}, status = '{status}', processed_at = {processed_at}");
            change(&database, id, &odd).await;
            let before = row(&database, id).await;
            // Beside it one that is to be taken, so that the statement has something to lock.
            let taken = claimed(&database, Uuid::now_v7()).await;
            change(&database, taken, EXPIRED).await;
            let mut other = impatient(&database).await;
            query("BEGIN").execute(&mut other).await.unwrap();
            let recovered = recover(&mut other, Some(10)).await.unwrap();
            assert_eq!(recovered.requeued, [taken], "{status}");
            assert!(is_locked(&database, taken).await, "{status}");
            assert!(!is_locked(&database, id).await, "{status}");
            query("COMMIT").execute(&mut other).await.unwrap();
            assert_eq!(row(&database, id).await, before, "{status}");
        }
    }
}

/// Lets `meanwhile` happen to an expired row between the moment a recovery sees it and the moment
/// it locks it.
async fn overtaken(database: &Database, meanwhile: &str) {
    let id = claimed(database, Uuid::now_v7()).await;
    change(database, id, EXPIRED).await;
    let mut clock = StoppedClock::new(database).await;
    let mut other = clock.hooked(database).await;
    let recovery = tokio::spawn(async move { recover(&mut other, Some(10)).await });
    clock.stands().await;
    change(database, id, meanwhile).await;
    let before = row(database, id).await;
    clock.go().await;
    let recovered = recovery.await.unwrap().unwrap();
    assert_eq!(recovered, Recovered::default());
    assert_eq!(row(database, id).await, before);
}

#[tokio::test]
async fn what_was_renewed_meanwhile_is_not_taken() {
    let database = Database::new().await;
    let renewed = "lease_expires_at = clock_timestamp() + interval '1 minute'";
    overtaken(&database, renewed).await;
}

#[tokio::test]
async fn what_was_settled_meanwhile_is_not_taken() {
    let database = Database::new().await;
    unchecked(&database).await;
    // With a lease left behind, which the table's checks forbid: the status alone has to do.
    overtaken(&database, "status = 'SENT', processed_at = now()").await;
}

#[tokio::test]
async fn a_locked_row_is_passed_over() {
    let database = Database::new().await;
    let (locked, free) = (
        claimed(&database, Uuid::now_v7()).await,
        claimed(&database, Uuid::now_v7()).await,
    );
    for id in [locked, free] {
        change(&database, id, EXPIRED).await;
    }
    let _stranger = lock(&database, locked).await;
    let mut other = impatient(&database).await;
    let recovered = recover(&mut other, Some(10)).await.unwrap();
    assert_eq!((recovered.requeued, recovered.failed), (vec![free], vec![]));
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_ids() {
    let database = Database::new().await;
    let arguments = "'{}', '{}', '{}', '{}', 1, NULL, ''";
    locks_in_order(&database, "recover", arguments).await;
}
