//! A settle writes under its claim's fence, and exactly what the result says.

use std::collections::BTreeSet;

use outbox::chrono::TimeDelta;
use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, impatient, is_locked, lock, locks_in_order, query_of, row, unchecked,
};

/// Settles one claim, as delivered or with an error and 2 s of delay; whether it was written.
async fn settle(
    connection: &mut PgConnection,
    id: Uuid,
    token: Uuid,
    error: Option<&str>,
) -> sqlx::Result<bool> {
    let settled = query_of!("settle")
        .bind([id])
        .bind([token])
        .bind([error.is_none()])
        .bind([error])
        .bind([2_000_i64]);
    let rows = settled.fetch_all(connection).await?;
    assert!(rows.iter().all(|row| row.get::<Uuid, _>(0) == id));
    Ok(!rows.is_empty())
}

/// The row with its claim cleared at `updated_at`.
fn unclaimed(row: OutboxRecord, after: &OutboxRecord) -> OutboxRecord {
    assert!(after.updated_at > row.updated_at);
    OutboxRecord {
        updated_at: after.updated_at,
        claim_token: None,
        lease_expires_at: None,
        claimed_by: None,
        recovery_count: 0,
        ..row
    }
}

#[tokio::test]
async fn delivered_is_sent() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let before = row(&database, id).await;
    let mut owner = impatient(&database).await;
    assert!(settle(&mut owner, id, token, None).await.unwrap());
    let after = row(&database, id).await;
    let expected = OutboxRecord {
        status: Status::Sent,
        processed_at: Some(after.updated_at),
        ..unclaimed(before, &after)
    };
    assert_eq!(after, expected);
}

#[tokio::test]
async fn a_failure_below_the_limit_is_tried_again_after_its_delay() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    change(&database, id, "retry_count = 3").await;
    let before = row(&database, id).await;
    let mut owner = impatient(&database).await;
    assert!(settle(&mut owner, id, token, Some("no")).await.unwrap());
    let after = row(&database, id).await;
    let expected = OutboxRecord {
        status: Status::Pending,
        retry_count: 4,
        last_error: Some("no".to_owned()),
        next_attempt_at: Some(after.updated_at + TimeDelta::seconds(2)),
        ..unclaimed(before, &after)
    };
    assert_eq!(after, expected);
}

#[tokio::test]
async fn a_failure_at_the_limit_and_beyond_is_failed() {
    let database = Database::new().await;
    for (failed, then) in [(4, 5), (5, 6), (i32::MAX, i32::MAX)] {
        let token = Uuid::now_v7();
        let id = claimed(&database, token).await;
        change(&database, id, &format!("retry_count = {failed}")).await;
        let before = row(&database, id).await;
        let mut owner = impatient(&database).await;
        assert!(settle(&mut owner, id, token, Some("no")).await.unwrap());
        let after = row(&database, id).await;
        let expected = OutboxRecord {
            status: Status::Failed,
            retry_count: then,
            last_error: Some("no".to_owned()),
            processed_at: Some(after.updated_at),
            failed_at: Some(after.updated_at),
            ..unclaimed(before, &after)
        };
        assert_eq!(after, expected);
    }
}

#[tokio::test]
async fn another_ones_claim_is_neither_written_nor_locked() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    let before = row(&database, id).await;
    let mut stale = impatient(&database).await;
    query("BEGIN").execute(&mut stale).await.unwrap();
    for error in [None, Some("no")] {
        let written = settle(&mut stale, id, Uuid::now_v7(), error).await.unwrap();
        assert!(!written);
        assert!(!is_locked(&database, id).await);
    }
    query("COMMIT").execute(&mut stale).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn what_is_not_processing_is_not_written() {
    let database = Database::new().await;
    unchecked(&database).await;
    let token = Uuid::now_v7();
    let mut owner = impatient(&database).await;
    for status in ["SENT", "FAILED", "PENDING"] {
        let id = claimed(&database, token).await;
        change(&database, id, &format!("status = '{status}'")).await;
        let before = row(&database, id).await;
        for error in [None, Some("no")] {
            assert!(!settle(&mut owner, id, token, error).await.unwrap());
        }
        assert_eq!(row(&database, id).await, before, "{status}");
    }
}

#[tokio::test]
async fn an_expired_lease_is_not_written() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    change(&database, id, "lease_expires_at = clock_timestamp()").await;
    let before = row(&database, id).await;
    let mut owner = impatient(&database).await;
    for error in [None, Some("no")] {
        assert!(!settle(&mut owner, id, token, error).await.unwrap());
    }
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn the_fence_reads_the_clock_as_it_is() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let mut owner = impatient(&database).await;
    // Its transaction's time is before the lease's end, its statement's is after it.
    query("BEGIN").execute(&mut owner).await.unwrap();
    change(&database, id, "lease_expires_at = clock_timestamp()").await;
    let before = row(&database, id).await;
    assert!(!settle(&mut owner, id, token, None).await.unwrap());
    query("COMMIT").execute(&mut owner).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn times_are_those_of_the_write() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let mut owner = impatient(&database).await;
    query("BEGIN").execute(&mut owner).await.unwrap();
    let later = clock(&database).await;
    assert!(settle(&mut owner, id, token, None).await.unwrap());
    query("COMMIT").execute(&mut owner).await.unwrap();
    assert!(row(&database, id).await.updated_at >= later);
}

#[tokio::test]
async fn a_locked_row_is_passed_over_and_the_others_are_written() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(claimed(&database, token).await);
    }
    let _stranger = lock(&database, ids[2]).await;
    let settled = query_of!("settle")
        .bind(&ids)
        .bind([token; 5])
        .bind([true; 5])
        .bind([None::<&str>; 5])
        .bind([0_i64; 5]);
    let rows = settled.fetch_all(&mut impatient(&database).await).await;
    let written: BTreeSet<Uuid> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    let locked = ids.remove(2);
    assert_eq!(written, BTreeSet::from_iter(ids));
    assert_eq!(row(&database, locked).await.status, Status::Processing);
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_ids() {
    let database = Database::new().await;
    locks_in_order(&database, "settle", "'{}', '{}', '{}', '{}', '{}'").await;
}
