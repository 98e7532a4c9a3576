//! D1: a node's wall clock is an hour off, either way. Every decision is PostgreSQL's.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use outbox::chrono::{DateTime, TimeDelta, Utc};
use outbox::{OutboxRecord, RecordId, Status};
use outbox_tests::{Database, Worker, eventually};

use crate::retrying;

/// A library that moves the clock of a process that it is preloaded into.
fn skewed_clock() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("skewed_clock_{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/skewed_clock.c");
        // The compiler that links Rust programs.
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(source)
            .arg("-ldl")
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "cc builds the clock"
        );
        library
    })
}

async fn now(database: &Database) -> DateTime<Utc> {
    sqlx::query_scalar("SELECT clock_timestamp()")
        .fetch_one(&database.pool())
        .await
        .unwrap()
}

/// A worker whose clock is `seconds` ahead, and which says so.
async fn skewed(database: &Database, seconds: i64) -> Worker {
    let worker = retrying::started(
        retrying::command(database)
            .env("LD_PRELOAD", skewed_clock())
            .env("SKEW_SECONDS", seconds.to_string())
            .env("INITIAL_DELAY_MS", "1800000")
            .env("EMIT", r#"{"good": 1}"#),
    )
    .await;
    let clock: i64 = worker.line("clock ").await.parse().unwrap();
    let off = clock - now(database).await.timestamp();
    assert!(
        (off - seconds).abs() < 600,
        "the worker's clock is {off} s ahead"
    );
    worker
}

/// As somebody else has claimed it, for so long yet.
async fn claimed(database: &Database, lease: &str) -> RecordId {
    let id: outbox::uuid::Uuid = sqlx::query_scalar(
        "INSERT INTO outbox_events (event_type, payload, handler, max_retries, status, claim_token,
                                    lease_expires_at, claimed_by)
         VALUES ('retrying_worker.asked', '{\"good\": 1}', 'retrying_worker', 5, 'PROCESSING',
                 gen_random_uuid(), now() + $1::text::interval, 'another')
         RETURNING id",
    )
    .bind(lease)
    .fetch_one(&database.pool())
    .await
    .unwrap();
    id.into()
}

async fn decides_as_postgresql_does(seconds: i64) {
    let database = retrying::database().await;
    let live = claimed(&database, "30 minutes").await;
    let live = database.row(live).await;
    let expired = claimed(&database, "-1 second").await;
    let begin = now(&database).await;
    let mut worker = skewed(&database, seconds).await;

    // A lease that has run out is recovered, one that lives is not.
    let recovered = database.row_when_ended(expired).await;
    assert_eq!((recovered.status, recovered.retry_count), (Status::Sent, 0));

    // A failure is stored with PostgreSQL's time, the next attempt half an hour later.
    let emitted = retrying::emit(&database, 2).await;
    let put_off = database
        .row_when(emitted.id, |row| row.retry_count == 1)
        .await;
    let at = put_off.updated_at;
    let expected = OutboxRecord {
        retry_count: 1,
        last_error: Some("attempt 1".to_owned()),
        next_attempt_at: Some(at + TimeDelta::minutes(30)),
        updated_at: at,
        ..emitted.clone()
    };
    assert_eq!(put_off, expected);
    assert!(begin <= at && at <= now(&database).await);

    // The worker's own event is due an hour after PostgreSQL's now.
    let delayed = eventually("the worker emits", async || {
        let mut rows = database.rows().await.into_iter();
        rows.rfind(|row| row.next_attempt_at > Some(begin + TimeDelta::minutes(50)))
    })
    .await;
    assert!(begin <= delayed.created_at && delayed.created_at <= now(&database).await);
    assert_eq!(
        delayed.next_attempt_at,
        Some(delayed.created_at + TimeDelta::hours(1))
    );
    assert_eq!(delayed.occurred_at, delayed.created_at);

    // The poller goes round many times, and takes only what is due.
    for _ in 0..30 {
        let other = retrying::emit(&database, 1).await;
        let sent = database.row_when_ended(other.id).await;
        assert_eq!(sent.status, Status::Sent);
        assert!(emitted.created_at <= sent.updated_at && sent.updated_at <= now(&database).await);
    }
    for waiting in [live, put_off, delayed] {
        assert_eq!(database.row(waiting.id).await, waiting);
    }
    // When PostgreSQL's time has come, so has the attempt's.
    database.make_due(emitted.id).await;
    assert_eq!(
        database.row_when_ended(emitted.id).await.status,
        Status::Sent
    );
    assert_eq!(retrying::attempts(&database, emitted.id).await, [1, 2]);
    worker.kill();
}

#[tokio::test]
async fn d1_an_hour_ahead() {
    decides_as_postgresql_does(3_600).await;
}

#[tokio::test]
async fn d1_an_hour_behind() {
    decides_as_postgresql_does(-3_600).await;
}
