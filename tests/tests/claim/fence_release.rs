//! A release gives back a claim of its own, and nothing else.

use std::collections::BTreeSet;

use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, impatient, is_locked, lock, locks_in_order, query_of, row, unchecked,
};

/// Releases one claim; whether it was released.
async fn release(connection: &mut PgConnection, id: Uuid, token: Uuid) -> sqlx::Result<bool> {
    let released = query_of!("release")
        .bind([id])
        .bind([token])
        .bind("channel");
    Ok(!released.fetch_all(connection).await?.is_empty())
}

#[tokio::test]
async fn it_is_due_at_once_and_no_attempt_is_charged() {
    let database = Database::new().await;
    // A lease that has run out does not keep its owner from giving the row back.
    for lease in ["interval '1 minute'", "-interval '1 minute'"] {
        let token = Uuid::now_v7();
        let id = claimed(&database, token).await;
        let lease = format!("lease_expires_at = clock_timestamp() + {lease}");
        change(&database, id, &lease).await;
        let before = row(&database, id).await;
        let mut owner = impatient(&database).await;
        query("BEGIN").execute(&mut owner).await.unwrap();
        let later = clock(&database).await;
        assert!(release(&mut owner, id, token).await.unwrap());
        query("COMMIT").execute(&mut owner).await.unwrap();
        let after = row(&database, id).await;
        assert!(after.updated_at >= later);
        let expected = OutboxRecord {
            status: Status::Pending,
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
async fn another_ones_claim_is_neither_released_nor_locked() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    let before = row(&database, id).await;
    let mut stale = impatient(&database).await;
    query("BEGIN").execute(&mut stale).await.unwrap();
    assert!(!release(&mut stale, id, Uuid::now_v7()).await.unwrap());
    assert!(!is_locked(&database, id).await);
    query("COMMIT").execute(&mut stale).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn what_is_not_processing_is_not_released() {
    let database = Database::new().await;
    unchecked(&database).await;
    let token = Uuid::now_v7();
    let mut owner = impatient(&database).await;
    for status in ["SENT", "FAILED", "PENDING"] {
        let id = claimed(&database, token).await;
        change(&database, id, &format!("status = '{status}'")).await;
        let before = row(&database, id).await;
        assert!(!release(&mut owner, id, token).await.unwrap());
        assert_eq!(row(&database, id).await, before, "{status}");
    }
}

#[tokio::test]
async fn a_locked_row_is_passed_over_and_the_others_are_released() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(claimed(&database, token).await);
    }
    let _stranger = lock(&database, ids[2]).await;
    let released = query_of!("release")
        .bind(&ids)
        .bind([token; 5])
        .bind("channel");
    let rows = released.fetch_all(&mut impatient(&database).await).await;
    let released: BTreeSet<Uuid> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    ids.remove(2);
    assert_eq!(released, BTreeSet::from_iter(ids));
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_ids() {
    let database = Database::new().await;
    locks_in_order(&database, "release", "'{}', '{}', ''").await;
}
