//! Binding takes what has no handler and is due, and writes one record for each handler.

use std::collections::BTreeSet;

use outbox::chrono::{DateTime, Utc};
use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{PgConnection, Row, query};

use crate::fence::{change, clock, due, impatient, lock, query_of, row, unbound, unchecked};

/// Subscribes handlers to patterns.
async fn subscribe(database: &Database, subscriptions: &[(&str, &str)]) {
    for (handler, pattern) in subscriptions {
        query("INSERT INTO outbox_handlers (handler, patterns) VALUES ($1, ARRAY[$2])")
            .bind(handler)
            .bind(pattern)
            .execute(&database.pool())
            .await
            .unwrap();
    }
}

/// Claims and binds for who runs the handlers `mine`: the records that it took.
async fn bind(connection: &mut PgConnection, slots: i32, mine: &[&str]) -> BTreeSet<Uuid> {
    let bind = query_of!("bind")
        .bind(["type"])
        .bind([slots])
        .bind([DateTime::<Utc>::UNIX_EPOCH])
        .bind([Uuid::nil()])
        .bind([None::<i32>])
        .bind(Uuid::now_v7())
        .bind(60_000_i64)
        .bind("a binder")
        .bind(mine)
        .bind(None::<i32>)
        .bind("channel")
        .bind(["type", "type", "other", "other"])
        .bind(["type", "*", "other", "*"]);
    let rows = bind.fetch_all(connection).await.unwrap();
    rows.iter().filter_map(|row| row.get("id")).collect()
}

#[tokio::test]
async fn one_handler_takes_the_row_and_the_others_get_copies() {
    let database = Database::new().await;
    subscribe(&database, &[("a", "*"), ("b", "type"), ("c", "other")]).await;
    let id = unbound(&database).await;
    change(
        &database,
        id,
        "tenant_id = 'acme', correlation_id = 'c', headers = '{\"h\": \"x\"}'",
    )
    .await;
    let before = row(&database, id).await;
    let mut binder = impatient(&database).await;
    let earliest = clock(&database).await;
    assert_eq!(bind(&mut binder, 10, &["b"]).await, BTreeSet::from([id]));
    let latest = clock(&database).await;

    let mine = row(&database, id).await;
    assert!(earliest <= mine.updated_at && mine.updated_at <= latest);
    assert!(mine.claim_token.is_some() && mine.lease_expires_at > Some(latest));
    let expected = OutboxRecord {
        handler: Some("b".to_owned()),
        max_retries: Some(5),
        status: Status::Processing,
        claim_token: mine.claim_token,
        lease_expires_at: mine.lease_expires_at,
        claimed_by: Some("a binder".to_owned()),
        updated_at: mine.updated_at,
        ..before.clone()
    };
    assert_eq!(mine, expected);

    let rows = database.rows().await;
    let copies: Vec<_> = rows.into_iter().filter(|row| row.id != mine.id).collect();
    let [copy] = copies.as_slice() else {
        panic!("one copy: {copies:?}");
    };
    let expected = OutboxRecord {
        id: copy.id,
        handler: Some("a".to_owned()),
        max_retries: Some(5),
        next_attempt_at: copy.next_attempt_at,
        updated_at: copy.updated_at,
        ..before
    };
    assert_eq!(*copy, expected);
    assert!(copy.next_attempt_at >= Some(earliest));
}

#[tokio::test]
async fn what_only_others_subscribed_to_is_left_to_them() {
    let database = Database::new().await;
    subscribe(&database, &[("a", "type")]).await;
    let id = unbound(&database).await;
    let before = row(&database, id).await;
    let mut binder = impatient(&database).await;
    assert_eq!(bind(&mut binder, 10, &["b"]).await, BTreeSet::new());
    assert_eq!(database.rows().await, [before]);
}

#[tokio::test]
async fn what_is_bound_is_not_bound_again() {
    let database = Database::new().await;
    subscribe(&database, &[("a", "type")]).await;
    let id = due(&database).await;
    let before = row(&database, id).await;
    let mut binder = impatient(&database).await;
    assert_eq!(bind(&mut binder, 10, &["a", "name"]).await, BTreeSet::new());
    assert_eq!(database.rows().await, [before]);
}

#[tokio::test]
async fn what_is_not_due_or_not_pending_is_not_bound() {
    let database = Database::new().await;
    unchecked(&database).await;
    subscribe(&database, &[("a", "*")]).await;
    let mut binder = impatient(&database).await;
    for odd in [
        "next_attempt_at = clock_timestamp() + interval '1 minute'",
        "status = 'PROCESSING'",
        "status = 'SENT'",
        "status = 'FAILED'",
        "event_type = 'other'",
    ] {
        let id = unbound(&database).await;
        change(&database, id, odd).await;
        let before = row(&database, id).await;
        assert_eq!(
            bind(&mut binder, 10, &["a"]).await,
            BTreeSet::new(),
            "{odd}"
        );
        assert_eq!(row(&database, id).await, before);
    }
}

#[tokio::test]
async fn a_locked_row_is_passed_over_without_waiting() {
    let database = Database::new().await;
    subscribe(&database, &[("a", "type"), ("b", "type")]).await;
    let (locked, free) = (unbound(&database).await, unbound(&database).await);
    let _stranger = lock(&database, locked).await;
    let mut binder = impatient(&database).await;
    assert_eq!(bind(&mut binder, 10, &["a"]).await, BTreeSet::from([free]));
    assert_eq!(database.rows().await.len(), 3);
}

#[tokio::test]
async fn as_many_as_asked_for_are_bound() {
    let database = Database::new().await;
    subscribe(&database, &[("a", "type"), ("b", "type")]).await;
    for _ in 0..5 {
        unbound(&database).await;
    }
    let mut binder = impatient(&database).await;
    assert_eq!(bind(&mut binder, 3, &["a", "b"]).await.len(), 3);
    assert_eq!(database.rows().await.len(), 5 + 3);
}

#[tokio::test]
async fn each_of_ones_own_handlers_gets_one_record_under_any_plan() {
    for settings in [
        "SET enable_seqscan = on",
        "SET enable_hashjoin = off; SET enable_mergejoin = off",
        "SET enable_nestloop = off; SET enable_mergejoin = off",
        "SET enable_nestloop = off; SET enable_hashjoin = off",
    ] {
        let database = Database::new().await;
        subscribe(&database, &[("a", "type"), ("b", "*"), ("c", "type")]).await;
        for _ in 0..5 {
            unbound(&database).await;
        }
        let mut binder = impatient(&database).await;
        sqlx::raw_sql(settings).execute(&mut binder).await.unwrap();
        assert_eq!(bind(&mut binder, 10, &["a", "b", "c"]).await.len(), 5);
        let rows = database.rows().await;
        let handlers: BTreeSet<(Uuid, String)> = rows
            .iter()
            .map(|row| (row.event_id.into(), row.handler.clone().unwrap()))
            .collect();
        assert_eq!((rows.len(), handlers.len()), (15, 15), "{settings}");
    }
}
