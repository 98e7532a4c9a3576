//! The look at a claim that a statement did not touch: whose it is, and whether it lives.

use outbox::uuid::Uuid;
use outbox_tests::Database;
use sqlx::{Row, query};

use crate::fence::{change, claimed, due, impatient, lock, query_of};

#[tokio::test]
async fn it_reads_token_and_life_without_waiting_for_a_lock() {
    let database = Database::new().await;
    let token = Uuid::now_v7();
    let (live, expired) = (
        claimed(&database, token).await,
        claimed(&database, token).await,
    );
    let nobodys = due(&database).await;
    let _stranger = lock(&database, live).await;
    let mut owner = impatient(&database).await;
    // The transaction's time is before the lease's end.
    query("BEGIN").execute(&mut owner).await.unwrap();
    change(&database, expired, "lease_expires_at = clock_timestamp()").await;
    let judged = query_of!("judge").bind([live, expired, nobodys, Uuid::now_v7()]);
    let rows = judged.fetch_all(&mut owner).await.unwrap();
    let mut verdicts: Vec<(Uuid, Option<Uuid>, bool)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    let mut expected = [
        (live, Some(token), true),
        (expired, Some(token), false),
        (nobodys, None, false),
    ];
    verdicts.sort_unstable();
    expected.sort_unstable();
    assert_eq!(verdicts, expected);
}
