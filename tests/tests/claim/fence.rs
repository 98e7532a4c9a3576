//! The statements of `outbox/src/sql` themselves, run on rows made by hand.
//!
//! A runtime never sends what most of a fence's predicates refuse, so these tests send it. Each
//! predicate has one that fails without it: `tests/fences.sh` deletes them one by one, in a copy of
//! the directory that it names by `OUTBOX_SQL`.

use std::path::{Path, PathBuf};

use outbox::OutboxRecord;
use outbox::uuid::Uuid;
use outbox_tests::{Database, eventually};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, PgConnection, query, query_scalar};

/// The text of a statement.
pub(crate) fn statement(name: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox/src/sql");
    let directory = std::env::var_os("OUTBOX_SQL").map_or(source, PathBuf::from);
    let path = directory.join(name).with_extension("sql");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A query of a statement's text, for binding.
macro_rules! query_of {
    ($name:literal) => {
        sqlx::query(sqlx::AssertSqlSafe($crate::fence::statement($name)))
    };
}
pub(crate) use query_of;

/// A record of the handler `name` that `token` has claimed for another minute.
pub(crate) async fn claimed(database: &Database, token: Uuid) -> Uuid {
    query_scalar(
        "INSERT INTO outbox_events (event_type, handler, payload, status, retry_count, max_retries,
           recovery_count, last_error, claim_token, lease_expires_at, claimed_by, next_attempt_at,
           created_at, occurred_at, updated_at)
         SELECT 'type', 'name', '{\"n\": 1}', 'PROCESSING', 1, 5, 1, 'the last error',
           $1, clock_timestamp() + interval '1 minute', 'a worker', at, at, at, at
         FROM (SELECT now() - interval '1 minute' AS at) hour
         RETURNING id",
    )
    .bind(token)
    .fetch_one(&database.pool())
    .await
    .unwrap()
}

/// A record of the handler `name` that is due for a minute.
pub(crate) async fn due(database: &Database) -> Uuid {
    let id = claimed(database, Uuid::now_v7()).await;
    let pending = "status = 'PENDING', claim_token = NULL, lease_expires_at = NULL,
        claimed_by = NULL, recovery_count = 0";
    change(database, id, pending).await;
    id
}

/// A record that no handler is chosen for, due for a minute.
pub(crate) async fn unbound(database: &Database) -> Uuid {
    let id = due(database).await;
    let unbound = "handler = NULL, max_retries = NULL, retry_count = 0, last_error = NULL";
    change(database, id, unbound).await;
    id
}

/// Changes a record: `assignments` as UPDATE takes them.
pub(crate) async fn change(database: &Database, id: Uuid, assignments: &str) {
    let sql = format!("UPDATE outbox_events SET {assignments} WHERE id = $1");
    let done = query(AssertSqlSafe(sql)).bind(id);
    let done = done.execute(&database.pool()).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}

pub(crate) async fn row(database: &Database, id: Uuid) -> OutboxRecord {
    let rows = database.rows().await;
    rows.into_iter().find(|row| row.id == id.into()).unwrap()
}

/// Takes the table's own fence away, so that a row can be what only a stranger could make of it.
pub(crate) async fn unchecked(database: &Database) {
    for check in [
        "processing_means_claimed",
        "processing_means_bound",
        "processed_means_ended",
        "failed_at_means_failed",
    ] {
        let sql = format!("ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_{check}");
        query(AssertSqlSafe(sql))
            .execute(&database.pool())
            .await
            .unwrap();
    }
}

/// A stranger that has the row locked until its connection goes.
pub(crate) async fn lock(database: &Database, id: Uuid) -> PgConnection {
    let mut stranger = database.connect().await;
    query("BEGIN").execute(&mut stranger).await.unwrap();
    let locked = query("SELECT FROM outbox_events WHERE id = $1 FOR UPDATE").bind(id);
    locked.execute(&mut stranger).await.unwrap();
    stranger
}

/// Whether somebody has the row locked.
pub(crate) async fn is_locked(database: &Database, id: Uuid) -> bool {
    let sql = "SELECT id FROM outbox_events WHERE id = $1 FOR UPDATE SKIP LOCKED";
    let free = query(sql).bind(id).fetch_optional(&database.pool()).await;
    free.unwrap().is_none()
}

/// A connection whose statements fail when they wait for a row's lock.
pub(crate) async fn impatient(database: &Database) -> PgConnection {
    let mut connection = database.connect().await;
    for sql in ["SET lock_timeout = '2s'", "SET statement_timeout = '60s'"] {
        query(sql).execute(&mut connection).await.unwrap();
    }
    connection
}

/// What PostgreSQL's clock says.
pub(crate) async fn clock(database: &Database) -> outbox::chrono::DateTime<outbox::chrono::Utc> {
    let now = query_scalar("SELECT clock_timestamp()");
    now.fetch_one(&database.pool()).await.unwrap()
}

/// Asserts that the statement locks rows in the order of their ids: so that whoever also waits for
/// locks in this order can't wait for it while it waits for him.
///
/// Without indexes to scan and without merge joins, this order comes from the statement's word only.
pub(crate) async fn locks_in_order(database: &Database, name: &str, arguments: &str) {
    let mut connection = database.connect().await;
    let sql = format!(
        "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_mergejoin = off;
         SET plan_cache_mode = force_generic_plan;
         PREPARE it AS {}",
        statement(name)
    );
    let mut run = async |sql: String| {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_all(&mut connection)
            .await
            .unwrap()
    };
    run(sql).await;
    let plan: Vec<PgRow> = run(format!("EXPLAIN (COSTS OFF) EXECUTE it ({arguments})")).await;
    let plan: Vec<String> = plan.iter().map(|line| sqlx::Row::get(line, 0)).collect();
    let sorted = plan.iter().any(|line| line.trim() == "Sort Key: o.id");
    assert!(sorted, "{plan:#?}");
}

/// PostgreSQL's clock, which stops for the statements of [`hooked`](Self::hooked): they wait at
/// its first reading until they are [let go](Self::go).
pub(crate) struct StoppedClock {
    /// Has the lock that the clock waits for.
    holder: PgConnection,
}

impl StoppedClock {
    pub(crate) async fn new(database: &Database) -> Self {
        let mut holder = database.connect().await;
        sqlx::raw_sql(
            "CREATE SCHEMA hooks;
             CREATE FUNCTION hooks.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
             BEGIN
               PERFORM pg_advisory_xact_lock_shared(1);
               RETURN pg_catalog.clock_timestamp();
             END $$;
             SELECT pg_advisory_lock(1)",
        )
        .execute(&mut holder)
        .await
        .unwrap();
        Self { holder }
    }

    /// A connection that reads this clock.
    pub(crate) async fn hooked(&self, database: &Database) -> PgConnection {
        let mut connection = impatient(database).await;
        for sql in [
            "SET search_path = hooks, pg_catalog, public",
            "SET lock_timeout = 0",
        ] {
            query(sql).execute(&mut connection).await.unwrap();
        }
        connection
    }

    /// Waits until a statement waits.
    pub(crate) async fn stands(&mut self) {
        eventually("a statement waits for the clock", async || {
            let waits = "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database())";
            let waits = query_scalar::<_, bool>(waits).fetch_one(&mut self.holder);
            waits.await.unwrap()
        })
        .await;
    }

    /// Lets the clock go on.
    pub(crate) async fn go(self) {
        self.holder.close().await.unwrap();
    }
}

/// Waits until a statement waits for the lock of a row.
pub(crate) async fn somebody_waits(database: &Database) {
    eventually("a statement waits for a row", async || {
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock')";
        let pool = database.pool();
        let waits = query_scalar::<_, bool>(waits).fetch_one(&pool).await;
        waits.unwrap()
    })
    .await;
}
