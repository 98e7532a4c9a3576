//! Claims whose replies were lost are given back, and nothing else.

use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, impatient, is_locked, lock, locks_in_order, query_of, row, unchecked,
};

/// Reclaims what these claims took of the handler that `claimed` names; how many records.
async fn reclaim(connection: &mut PgConnection, handler: &str, token: Uuid) -> sqlx::Result<i64> {
    let reclaimed = query_of!("reclaim")
        .bind([handler])
        .bind([token])
        .bind("channel");
    reclaimed.fetch_one(connection).await?.try_get(0)
}

async fn handler_of(database: &Database, id: Uuid) -> String {
    row(database, id).await.handler.unwrap()
}

#[tokio::test]
async fn it_is_due_at_once_and_neither_attempt_nor_lost_lease_is_charged() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let before = row(&database, id).await;
    let handler = handler_of(&database, id).await;
    let mut owner = impatient(&database).await;
    query("BEGIN").execute(&mut owner).await.unwrap();
    let later = clock(&database).await;
    assert_eq!(reclaim(&mut owner, &handler, token).await.unwrap(), 1);
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

#[tokio::test]
async fn another_ones_claim_is_neither_given_back_nor_locked() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let before = row(&database, id).await;
    let handler = handler_of(&database, id).await;
    let mut stale = impatient(&database).await;
    for (handler, token) in [(handler.as_str(), Uuid::now_v7()), ("another", token)] {
        query("BEGIN").execute(&mut stale).await.unwrap();
        assert_eq!(reclaim(&mut stale, handler, token).await.unwrap(), 0);
        assert!(!is_locked(&database, id).await);
        query("COMMIT").execute(&mut stale).await.unwrap();
        assert_eq!(row(&database, id).await, before);
    }
}

#[tokio::test]
async fn what_is_not_processing_is_not_given_back() {
    let database = Database::new().await;
    unchecked(&database).await;
    let token = Uuid::now_v7();
    let mut owner = impatient(&database).await;
    for status in ["SENT", "FAILED", "PENDING"] {
        let id = claimed(&database, token).await;
        change(&database, id, &format!("status = '{status}'")).await;
        let before = row(&database, id).await;
        let handler = handler_of(&database, id).await;
        assert_eq!(reclaim(&mut owner, &handler, token).await.unwrap(), 0);
        assert_eq!(row(&database, id).await, before, "{status}");
    }
}

#[tokio::test]
async fn a_locked_row_is_passed_over_and_the_others_are_given_back() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(claimed(&database, token).await);
    }
    let handler = handler_of(&database, ids[0]).await;
    let _stranger = lock(&database, ids[2]).await;
    let mut owner = impatient(&database).await;
    assert_eq!(reclaim(&mut owner, &handler, token).await.unwrap(), 4);
    assert_eq!(row(&database, ids[2]).await.status, Status::Processing);
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_ids() {
    let database = Database::new().await;
    locks_in_order(&database, "reclaim", "'{}', '{}', ''").await;
}
