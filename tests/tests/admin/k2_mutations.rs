//! K2: a change by hand is made exactly once, from the states that allow it, and says what it met.

use std::time::Duration;

use outbox::{Admin, AdminError, Mutation, OutboxRecord, RecordId, Status};
use outbox_tests::{Database, eventually};
use sqlx::postgres::PgListener;
use sqlx::{Connection, query, query_scalar};
use tokio::task::JoinSet;

use crate::{claim, conflict, record, row};

const OTHERS: [Status; 3] = [Status::Pending, Status::Processing, Status::Sent];

fn unknown() -> RecordId {
    outbox::uuid::Uuid::now_v7().into()
}

#[tokio::test]
async fn get_reads_the_whole_record() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool());
    assert_eq!(admin.get(unknown()).await.unwrap(), None);
    for status in [
        Status::Pending,
        Status::Processing,
        Status::Sent,
        Status::Failed,
    ] {
        let id = record(&database, status, Some("acme")).await;
        assert_eq!(admin.get(id).await.unwrap(), Some(row(&database, id).await));
    }
}

#[tokio::test]
async fn k2_retry_resets_all_that_belongs_together() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool());
    let id = record(&database, Status::Failed, None).await;
    let before = row(&database, id).await;
    let mut listener = PgListener::connect_with(&database.pool()).await.unwrap();
    listener.listen("outbox_events").await.unwrap();

    assert_eq!(admin.retry(id).await.unwrap(), Mutation::Applied);

    let after = row(&database, id).await;
    let now: outbox::chrono::DateTime<outbox::chrono::Utc> =
        query_scalar("SELECT clock_timestamp()")
            .fetch_one(&database.pool())
            .await
            .unwrap();
    let due = after.next_attempt_at.unwrap();
    assert!(before.updated_at < due && due <= now, "{due} {now}");
    let expected = OutboxRecord {
        status: Status::Pending,
        next_attempt_at: Some(due),
        updated_at: due,
        recovery_count: 0,
        last_error: None,
        processed_at: None,
        failed_at: None,
        ..before
    };
    assert_eq!(after, expected);
    let woken = tokio::time::timeout(Duration::from_secs(10), listener.recv()).await;
    assert_eq!(woken.unwrap().unwrap().payload(), "");

    assert_eq!(admin.retry(id).await.unwrap(), conflict(Status::Pending));
    assert_eq!(row(&database, id).await, after);
}

#[tokio::test]
async fn k2_retry_wakes_the_channel_asked_for() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool()).channel("jobs");
    let id = record(&database, Status::Failed, None).await;
    let mut listener = PgListener::connect_with(&database.pool()).await.unwrap();
    listener
        .listen_all(["outbox_events", "jobs"])
        .await
        .unwrap();
    assert_eq!(admin.retry(id).await.unwrap(), Mutation::Applied);
    let woken = tokio::time::timeout(Duration::from_secs(10), listener.recv()).await;
    assert_eq!(woken.unwrap().unwrap().channel(), "jobs");
    for bad in ["", "Jobs", "a\"b"] {
        let failed = record(&database, Status::Failed, None).await;
        let before = row(&database, failed).await;
        let admin = Admin::operator(database.pool()).channel(bad);
        let error = admin.retry(failed).await.unwrap_err();
        assert!(matches!(error, AdminError::InvalidChannel(_)), "{error:?}");
        assert_eq!(row(&database, failed).await, before);
    }
}

#[tokio::test]
async fn k2_other_states_are_a_conflict_and_stay_as_they_are() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool());
    for status in OTHERS {
        let id = record(&database, status, None).await;
        let before = row(&database, id).await;
        assert_eq!(admin.retry(id).await.unwrap(), conflict(status));
        assert_eq!(row(&database, id).await, before);
    }
    for status in [Status::Processing, Status::Sent, Status::Failed] {
        let id = record(&database, status, None).await;
        let before = row(&database, id).await;
        assert_eq!(admin.mark_failed(id, "no").await.unwrap(), conflict(status));
        assert_eq!(row(&database, id).await, before);
    }
    assert_eq!(admin.retry(unknown()).await.unwrap(), Mutation::NotFound);
    assert_eq!(
        admin.mark_failed(unknown(), "no").await.unwrap(),
        Mutation::NotFound
    );
}

#[tokio::test]
async fn mark_failed_keeps_the_reason() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool());
    let id = record(&database, Status::Pending, None).await;
    let before = row(&database, id).await;
    for empty in ["", " \n\t"] {
        let error = admin.mark_failed(id, empty).await.unwrap_err();
        assert!(matches!(error, AdminError::EmptyReason), "{error:?}");
    }
    assert_eq!(row(&database, id).await, before);

    let reason = format!("sold\0out{}", "é".repeat(20_000));
    assert_eq!(
        admin.mark_failed(id, reason).await.unwrap(),
        Mutation::Applied
    );

    let after = row(&database, id).await;
    let failed = after.failed_at.unwrap();
    let error = after.last_error.clone().unwrap();
    assert!(error.starts_with("sold\u{fffd}outé") && error.len() <= 16 * 1024);
    let expected = OutboxRecord {
        status: Status::Failed,
        last_error: Some(error),
        updated_at: failed,
        processed_at: Some(failed),
        failed_at: Some(failed),
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(admin.retry(id).await.unwrap(), Mutation::Applied);
}

#[tokio::test]
async fn an_unbound_record_can_be_given_up_and_retried() {
    let database = Database::new().await;
    let admin = Admin::operator(database.pool());
    let id: RecordId = query_scalar(
        "INSERT INTO outbox_events (event_type, payload) VALUES ('admin.unbound', '1') RETURNING id",
    )
    .fetch_one(&database.pool())
    .await
    .unwrap();
    assert_eq!(
        admin.mark_failed(id, "nobody wants it").await.unwrap(),
        Mutation::Applied
    );
    assert_eq!(admin.retry(id).await.unwrap(), Mutation::Applied);
    let row = admin.get(id).await.unwrap().unwrap();
    assert_eq!(
        (row.handler, row.max_retries, row.status),
        (None, None, Status::Pending)
    );
}

/// Runs 20 retries of one record at once and returns what each met.
async fn retries_at_once(database: &Database, level: &str) -> Vec<Mutation> {
    let id = record(database, Status::Failed, None).await;
    let set = format!("SET default_transaction_isolation = '{level}'");
    let pool = database.pool_with(|options| {
        options
            .max_connections(20)
            .after_connect(move |connection, _| {
                let set = sqlx::AssertSqlSafe(set.clone());
                Box::pin(async move { sqlx::raw_sql(set).execute(connection).await.map(drop) })
            })
    });
    let mut retries = JoinSet::new();
    for _ in 0..20 {
        let admin = Admin::operator(pool.clone());
        retries.spawn(async move { admin.retry(id).await.unwrap() });
    }
    let met = retries.join_all().await;
    assert_eq!(row(database, id).await.status, Status::Pending);
    met
}

#[tokio::test]
async fn k2_of_twenty_retries_one_is_applied() {
    let database = Database::new().await;
    for level in ["read committed", "repeatable read", "serializable"] {
        for _ in 0..10 {
            let met = retries_at_once(&database, level).await;
            let applied = met.iter().filter(|met| **met == Mutation::Applied).count();
            assert_eq!(applied, 1, "{level}: {met:?}");
            let others = [
                Mutation::Applied,
                Mutation::LostClaim,
                conflict(Status::Pending),
            ];
            assert!(
                met.iter().all(|met| others.contains(met)),
                "{level}: {met:?}"
            );
        }
    }
}

/// Waits until a backend of this database waits for a lock.
async fn somebody_waits(database: &Database) {
    eventually("somebody waits for the row", async || {
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock')";
        query_scalar::<_, bool>(waits)
            .fetch_one(&database.pool())
            .await
            .unwrap()
    })
    .await;
}

#[tokio::test]
async fn k2_a_claim_that_was_first_is_not_overwritten() {
    let database = Database::new().await;
    let id = record(&database, Status::Pending, None).await;
    let mut connection = database.connect().await;
    let mut tx = connection.begin().await.unwrap();
    assert!(claim(&mut *tx, id).await);

    let admin = Admin::operator(database.pool());
    let marked = tokio::spawn(async move { admin.mark_failed(id, "no").await.unwrap() });
    somebody_waits(&database).await;
    tx.commit().await.unwrap();

    assert_eq!(marked.await.unwrap(), Mutation::LostClaim);
    let row = row(&database, id).await;
    assert_eq!(row.status, Status::Processing);
    assert!(row.claim_token.is_some() && row.failed_at.is_none());
}

#[tokio::test]
async fn k2_a_claim_that_was_rolled_back_does_not_count() {
    let database = Database::new().await;
    let id = record(&database, Status::Pending, None).await;
    let mut connection = database.connect().await;
    let mut tx = connection.begin().await.unwrap();
    assert!(claim(&mut *tx, id).await);

    let admin = Admin::operator(database.pool());
    let marked = tokio::spawn(async move { admin.mark_failed(id, "no").await.unwrap() });
    somebody_waits(&database).await;
    let released: outbox::chrono::DateTime<outbox::chrono::Utc> =
        query_scalar("SELECT clock_timestamp()")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    tx.rollback().await.unwrap();

    assert_eq!(marked.await.unwrap(), Mutation::Applied);
    let row = row(&database, id).await;
    assert!(
        row.failed_at.unwrap() > released,
        "the clock is read after the wait"
    );
    assert_eq!(row.updated_at, row.failed_at.unwrap());
}

#[tokio::test]
async fn k2_mark_failed_and_claims_never_both_win() {
    let database = Database::new().await;
    for _ in 0..50 {
        let id = record(&database, Status::Pending, None).await;
        let admin = Admin::operator(database.pool());
        let pool = database.pool();
        let (marked, claimed) = tokio::join!(admin.mark_failed(id, "no"), claim(&pool, id));
        let status = row(&database, id).await.status;
        match marked.unwrap() {
            Mutation::Applied => assert!(!claimed && status == Status::Failed),
            Mutation::LostClaim => assert!(claimed && status == Status::Processing),
            met => assert!(claimed && met == conflict(Status::Processing), "{met:?}"),
        }
    }
}

#[tokio::test]
async fn k2_a_retry_of_a_record_that_goes_meanwhile_changes_nothing() {
    let database = Database::new().await;
    let id = record(&database, Status::Failed, None).await;
    let mut connection = database.connect().await;
    let mut tx = connection.begin().await.unwrap();
    query("DELETE FROM outbox_events WHERE id = $1")
        .bind(id)
        .execute(&mut *tx)
        .await
        .unwrap();

    let admin = Admin::operator(database.pool());
    let retried = tokio::spawn(async move { admin.retry(id).await.unwrap() });
    somebody_waits(&database).await;
    tx.commit().await.unwrap();

    assert_eq!(retried.await.unwrap(), Mutation::LostClaim);
    assert_eq!(database.rows().await, []);
    let admin = Admin::operator(database.pool());
    assert_eq!(admin.retry(id).await.unwrap(), Mutation::NotFound);
}

#[tokio::test]
async fn missing_tables_say_what_to_run() {
    let database = Database::empty().await;
    let admin = Admin::operator(database.pool());
    let error = admin.retry(unknown()).await.unwrap_err();
    assert!(matches!(error, AdminError::NotMigrated(_)), "{error:?}");
    assert!(error.to_string().contains("outbox::migrate"), "{error}");
}
