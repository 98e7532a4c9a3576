//! A renewal moves a live lease of its own, and nothing else.

use std::collections::BTreeSet;

use outbox::OutboxRecord;
use outbox::uuid::Uuid;
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, impatient, is_locked, lock, locks_in_order, query_of, row, unchecked,
};

/// Renews one claim for two minutes; whether it was renewed.
async fn renew(connection: &mut PgConnection, id: Uuid, token: Uuid) -> sqlx::Result<bool> {
    let renewed = query_of!("heartbeat")
        .bind([id])
        .bind([token])
        .bind(120_000_i64);
    Ok(!renewed.fetch_all(connection).await?.is_empty())
}

#[tokio::test]
async fn only_the_lease_moves() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let before = row(&database, id).await;
    let mut owner = impatient(&database).await;
    let earliest = clock(&database).await;
    assert!(renew(&mut owner, id, token).await.unwrap());
    let latest = clock(&database).await;
    let after = row(&database, id).await;
    let renewed_at = after.lease_expires_at.unwrap() - std::time::Duration::from_mins(2);
    assert!(earliest <= renewed_at && renewed_at <= latest);
    let expected = OutboxRecord {
        lease_expires_at: after.lease_expires_at,
        ..before
    };
    assert_eq!(after, expected);
}

#[tokio::test]
async fn another_ones_claim_is_neither_renewed_nor_locked() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    let before = row(&database, id).await;
    let mut stale = impatient(&database).await;
    query("BEGIN").execute(&mut stale).await.unwrap();
    assert!(!renew(&mut stale, id, Uuid::now_v7()).await.unwrap());
    assert!(!is_locked(&database, id).await);
    query("COMMIT").execute(&mut stale).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn an_expired_lease_is_never_revived() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    change(&database, id, "lease_expires_at = clock_timestamp()").await;
    let before = row(&database, id).await;
    let mut owner = impatient(&database).await;
    assert!(!renew(&mut owner, id, token).await.unwrap());
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn the_fence_reads_the_clock_as_it_is() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let id = claimed(&database, token).await;
    let mut owner = impatient(&database).await;
    query("BEGIN").execute(&mut owner).await.unwrap();
    change(&database, id, "lease_expires_at = clock_timestamp()").await;
    let before = row(&database, id).await;
    assert!(!renew(&mut owner, id, token).await.unwrap());
    query("COMMIT").execute(&mut owner).await.unwrap();
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn what_is_not_processing_is_not_renewed() {
    let database = Database::new().await;
    unchecked(&database).await;
    let token = Uuid::now_v7();
    let mut owner = impatient(&database).await;
    for status in ["SENT", "FAILED", "PENDING"] {
        let id = claimed(&database, token).await;
        change(&database, id, &format!("status = '{status}'")).await;
        let before = row(&database, id).await;
        assert!(!renew(&mut owner, id, token).await.unwrap());
        assert_eq!(row(&database, id).await, before, "{status}");
    }
}

#[tokio::test]
async fn a_locked_row_does_not_keep_the_others_from_being_renewed() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(claimed(&database, token).await);
    }
    let _stranger = lock(&database, ids[2]).await;
    let renewed = query_of!("heartbeat")
        .bind(&ids)
        .bind([token; 5])
        .bind(120_000_i64);
    let rows = renewed.fetch_all(&mut impatient(&database).await).await;
    let renewed: BTreeSet<Uuid> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    ids.remove(2);
    assert_eq!(renewed, BTreeSet::from_iter(ids));
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_ids() {
    let database = Database::new().await;
    locks_in_order(&database, "heartbeat", "'{}', '{}', 1000").await;
}
