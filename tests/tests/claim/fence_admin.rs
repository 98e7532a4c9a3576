//! What an operator changes: only a record in the right state, of the right tenant, as it is once
//! it is locked.

use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, due, impatient, lock, row, somebody_waits, statement, unchecked,
};

const ENDED: &str = "claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL,
    processed_at = now() - interval '1 second'";

/// What the statement found, and whether it made its change; nothing when there is no such record.
async fn run(
    connection: &mut PgConnection,
    name: &str,
    id: Uuid,
    tenant: Option<&str>,
) -> Option<(String, bool)> {
    let sql = AssertSqlSafe(statement(name));
    let change = query(sql).bind(id).bind(tenant);
    let change = match name {
        "admin_retry" => change.bind(vec!["channel"]),
        _ => change.bind("a reason"),
    };
    let row = change.fetch_optional(connection).await.unwrap();
    row.map(|row| (row.get(0), row.get(1)))
}

/// A record of the tenant `acme` in the state that the statement is for.
async fn candidate(database: &Database, name: &str) -> Uuid {
    let id = due(database).await;
    change(database, id, "tenant_id = 'acme'").await;
    if name == "admin_retry" {
        let failed = format!("status = 'FAILED', failed_at = now() - interval '1 second', {ENDED}");
        change(database, id, &failed).await;
    }
    id
}

/// What the statement makes of it.
fn changed(name: &str, before: OutboxRecord, after: &OutboxRecord) -> OutboxRecord {
    let at = Some(after.updated_at);
    let updated_at = after.updated_at;
    if name == "admin_retry" {
        OutboxRecord {
            status: Status::Pending,
            recovery_count: 0,
            last_error: None,
            next_attempt_at: at,
            processed_at: None,
            failed_at: None,
            updated_at,
            ..before
        }
    } else {
        OutboxRecord {
            status: Status::Failed,
            last_error: Some("a reason".to_owned()),
            processed_at: at,
            failed_at: at,
            updated_at,
            ..before
        }
    }
}

const BOTH: [(&str, &str); 2] = [("admin_retry", "FAILED"), ("admin_mark_failed", "PENDING")];

#[tokio::test]
async fn the_right_record_is_changed() {
    let database = Database::new().await;
    let mut operator = impatient(&database).await;
    for (name, status) in BOTH {
        for tenant in [None, Some("acme")] {
            let id = candidate(&database, name).await;
            let before = row(&database, id).await;
            let answer = run(&mut operator, name, id, tenant).await;
            assert_eq!(answer, Some((status.to_owned(), true)), "{name}");
            let after = row(&database, id).await;
            assert_eq!(after, changed(name, before, &after), "{name}");
        }
    }
}

#[tokio::test]
async fn a_record_in_another_state_is_not_changed() {
    let database = Database::new().await;
    unchecked(&database).await;
    let mut operator = impatient(&database).await;
    for (name, right) in BOTH {
        for status in ["PENDING", "PROCESSING", "SENT", "FAILED"] {
            if status == right {
                continue;
            }
            let id = claimed(&database, Uuid::now_v7()).await;
            change(&database, id, &format!("status = '{status}'")).await;
            let before = row(&database, id).await;
            let answer = run(&mut operator, name, id, None).await;
            assert_eq!(answer, Some((status.to_owned(), false)), "{name}");
            assert_eq!(row(&database, id).await, before, "{name}");
        }
    }
}

#[tokio::test]
async fn another_tenants_record_is_neither_changed_nor_shown() {
    let database = Database::new().await;
    let mut operator = impatient(&database).await;
    for (name, _) in BOTH {
        let id = candidate(&database, name).await;
        let before = row(&database, id).await;
        for tenant in ["Acme", "acme ", "", "globex"] {
            assert_eq!(
                run(&mut operator, name, id, Some(tenant)).await,
                None,
                "{name}"
            );
            assert_eq!(row(&database, id).await, before, "{name}");
        }
    }
}

#[tokio::test]
async fn of_two_at_once_one_makes_the_change() {
    let database = Database::new().await;
    for (name, status) in BOTH {
        let id = candidate(&database, name).await;
        let mut first = impatient(&database).await;
        query("BEGIN").execute(&mut first).await.unwrap();
        let answer = run(&mut first, name, id, None).await;
        assert_eq!(answer, Some((status.to_owned(), true)), "{name}");
        let mut second = database.connect().await;
        let waits = tokio::spawn(async move { run(&mut second, name, id, None).await });
        somebody_waits(&database).await;
        query("COMMIT").execute(&mut first).await.unwrap();
        let after_first = row(&database, id).await;
        let answer = waits.await.unwrap();
        assert_eq!(answer, Some((status.to_owned(), false)), "{name}");
        assert_eq!(row(&database, id).await, after_first, "{name}");
    }
}

#[tokio::test]
async fn times_are_those_after_the_wait_for_the_lock() {
    let database = Database::new().await;
    for (name, _) in BOTH {
        let id = candidate(&database, name).await;
        let before = row(&database, id).await;
        let stranger = lock(&database, id).await;
        let mut operator = database.connect().await;
        let waits = tokio::spawn(async move { run(&mut operator, name, id, None).await });
        somebody_waits(&database).await;
        let late = clock(&database).await;
        stranger.close().await.unwrap();
        assert!(waits.await.unwrap().unwrap().1, "{name}");
        let after = row(&database, id).await;
        assert!(after.updated_at >= late, "{name}");
        assert_eq!(after, changed(name, before, &after), "{name}");
    }
}
