//! A claim takes exactly what is due, whatever plan the server chooses.

use std::collections::{BTreeMap, BTreeSet};

use outbox::chrono::{DateTime, Utc};
use outbox::uuid::Uuid;
use outbox::{OutboxRecord, Status};
use outbox_tests::Database;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row, query};

use crate::fence::{
    change, claimed, clock, due, impatient, lock, query_of, row, statement, unchecked,
};

/// A claim of so many records of the handler `name`.
struct Claim {
    token: Uuid,
    slots: i32,
    after: (DateTime<Utc>, Uuid),
    suspect: bool,
}

impl Default for Claim {
    fn default() -> Self {
        Self {
            token: Uuid::now_v7(),
            slots: 100,
            after: (DateTime::<Utc>::UNIX_EPOCH, Uuid::nil()),
            suspect: true,
        }
    }
}

impl Claim {
    /// Runs it: the answer's rows.
    async fn run(&self, connection: &mut PgConnection) -> Vec<PgRow> {
        let claim = query_of!("claim")
            .bind(["name"])
            .bind([self.slots])
            .bind([self.after.0])
            .bind([self.after.1])
            .bind(self.token)
            .bind(60_000_i64)
            .bind("a new worker")
            .bind(self.suspect)
            .bind(["type"]);
        claim.fetch_all(connection).await.unwrap()
    }

    /// Runs it: the records that it took.
    async fn take(&self, connection: &mut PgConnection) -> BTreeSet<Uuid> {
        let rows = self.run(connection).await;
        let taken = rows
            .iter()
            .filter(|row| row.get::<Option<Uuid>, _>("event_id").is_some());
        taken.map(|row| row.get("id")).collect()
    }
}

#[tokio::test]
async fn it_takes_the_row_and_changes_only_the_claim() {
    let database = Database::new().await;
    let id = due(&database).await;
    let before = row(&database, id).await;
    let claim = Claim::default();
    let mut poller = impatient(&database).await;
    let earliest = clock(&database).await;
    assert_eq!(claim.take(&mut poller).await, BTreeSet::from([id]));
    let latest = clock(&database).await;
    let after = row(&database, id).await;
    let lease = after.lease_expires_at.unwrap() - std::time::Duration::from_mins(1);
    for time in [lease, after.updated_at] {
        assert!(earliest <= time && time <= latest, "{after:?}");
    }
    let expected = OutboxRecord {
        status: Status::Processing,
        claim_token: Some(claim.token),
        lease_expires_at: after.lease_expires_at,
        claimed_by: Some("a new worker".to_owned()),
        updated_at: after.updated_at,
        ..before
    };
    assert_eq!(after, expected);
}

#[tokio::test]
async fn what_is_claimed_is_not_claimed_again() {
    let database = Database::new().await;
    let id = claimed(&database, Uuid::now_v7()).await;
    let before = row(&database, id).await;
    let mut poller = impatient(&database).await;
    assert_eq!(Claim::default().take(&mut poller).await, BTreeSet::new());
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn what_has_ended_is_not_claimed() {
    let database = Database::new().await;
    unchecked(&database).await;
    let mut poller = impatient(&database).await;
    for status in ["SENT", "FAILED"] {
        let id = due(&database).await;
        change(&database, id, &format!("status = '{status}'")).await;
        let before = row(&database, id).await;
        assert_eq!(Claim::default().take(&mut poller).await, BTreeSet::new());
        assert_eq!(row(&database, id).await, before, "{status}");
    }
}

#[tokio::test]
async fn what_is_not_due_is_not_claimed() {
    let database = Database::new().await;
    let id = due(&database).await;
    let later = "next_attempt_at = clock_timestamp() + interval '1 minute'";
    change(&database, id, later).await;
    let mut poller = impatient(&database).await;
    let rows = Claim::default().run(&mut poller).await;
    // The answer says when to come back.
    let next: Vec<(Option<Uuid>, f64)> = rows
        .iter()
        .map(|row| (row.get("id"), row.get("next_due_ms")))
        .collect();
    let [(None, next_due_ms)] = next[..] else {
        panic!("nothing is claimed: {next:?}");
    };
    assert!((1.0..60_000.0).contains(&next_due_ms), "{next_due_ms}");
}

#[tokio::test]
async fn another_handlers_record_is_not_claimed() {
    let database = Database::new().await;
    let id = due(&database).await;
    change(&database, id, "handler = 'another'").await;
    let before = row(&database, id).await;
    let mut poller = impatient(&database).await;
    assert_eq!(Claim::default().take(&mut poller).await, BTreeSet::new());
    assert_eq!(row(&database, id).await, before);
}

#[tokio::test]
async fn what_lies_before_the_position_is_not_looked_at() {
    let database = Database::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(due(&database).await);
    }
    ids.sort_unstable();
    // All due at one moment: the ids alone tell what lies before.
    query("UPDATE outbox_events SET next_attempt_at = '2026-01-01'")
        .execute(&database.pool())
        .await
        .unwrap();
    let at = row(&database, ids[1]).await.next_attempt_at.unwrap();
    let claim = Claim {
        after: (at, ids[1]),
        ..Claim::default()
    };
    let mut poller = impatient(&database).await;
    assert_eq!(claim.take(&mut poller).await, BTreeSet::from([ids[2]]));
}

#[tokio::test]
async fn a_locked_row_is_passed_over_without_waiting() {
    let database = Database::new().await;
    let (locked, free) = (due(&database).await, due(&database).await);
    let _stranger = lock(&database, locked).await;
    let mut poller = impatient(&database).await;
    assert_eq!(
        Claim::default().take(&mut poller).await,
        BTreeSet::from([free])
    );
}

#[tokio::test]
async fn of_suspects_one_is_taken_and_the_others_are_only_told() {
    let database = Database::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = due(&database).await;
        change(&database, id, "recovery_count = 2").await;
        ids.push(id);
    }
    let innocent = due(&database).await;
    change(&database, innocent, "recovery_count = 1").await;
    let mut poller = impatient(&database).await;
    let none = Claim {
        suspect: false,
        slots: 4,
        ..Claim::default()
    };
    let rows = none.run(&mut poller).await;
    let told: BTreeMap<Uuid, bool> = rows
        .iter()
        .map(|row| {
            (
                row.get("id"),
                row.get::<Option<Uuid>, _>("event_id").is_some(),
            )
        })
        .collect();
    let expected = ids.iter().map(|id| (*id, false)).chain([(innocent, true)]);
    assert_eq!(told, expected.collect());

    let taken = Claim::default().take(&mut poller).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert!(taken.iter().all(|id| ids.contains(id)));
}

/// Claims 3 of 2,000 under planner settings that make it choose badly.
async fn three_of_two_thousand(settings: &str) {
    let database = Database::new().await;
    let sql = "INSERT INTO outbox_events (event_type, handler, max_retries, payload)
        SELECT 'type', 'name', 5, '{}' FROM generate_series(1, 2000)";
    query(sql).execute(&database.pool()).await.unwrap();
    let mut poller = database.connect().await;
    let prepare = format!("{settings}; PREPARE it AS {}", statement("claim"));
    sqlx::raw_sql(AssertSqlSafe(prepare))
        .execute(&mut poller)
        .await
        .unwrap();
    let token = Uuid::now_v7();
    let execute = format!(
        "EXECUTE it ('{{name}}', '{{3}}', '{{-infinity}}', '{{{}}}', '{token}', 60000, 'worker', true, '{{}}')",
        Uuid::nil()
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(execute)).fetch_all(&mut poller);
    assert_eq!(rows.await.unwrap().len(), 3, "{settings}");
    let rows = database.rows().await;
    let taken = rows.iter().filter(|row| row.status != Status::Pending);
    assert!(taken.clone().all(|row| row.claim_token == Some(token)));
    assert_eq!(taken.count(), 3, "{settings}");
}

#[tokio::test]
async fn b1_a_claim_of_three_takes_three_under_any_plan() {
    let hostile = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off;
        SET enable_material = off; SET enable_memoize = off";
    for settings in [
        "SET enable_seqscan = on".to_owned(),
        hostile.to_owned(),
        format!("{hostile}; SET plan_cache_mode = force_generic_plan"),
        format!("{hostile}; SET enable_indexscan = off; SET enable_bitmapscan = off"),
        format!("{hostile}; SET enable_tidscan = off"),
        "SET plan_cache_mode = force_generic_plan".to_owned(),
    ] {
        three_of_two_thousand(&settings).await;
    }
}
