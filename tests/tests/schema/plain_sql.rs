//! Plain SQL as a producer, and `psql` as the migrator.

use std::path::Path;
use std::process::Command;

use outbox::Status;
use outbox_tests::{Database, Server};
use sqlx::query;

#[tokio::test]
async fn type_and_payload_are_enough_for_an_event() {
    let database = Database::new().await;
    query(
        "INSERT INTO outbox_events (event_type, payload) VALUES ('order.created', '{\"id\": 7}')",
    )
    .execute(&database.pool())
    .await
    .unwrap();

    let rows = database.rows().await;
    let [row] = rows.as_slice() else {
        panic!("one row, not {rows:?}");
    };
    assert_eq!(row.event_type, "order.created");
    assert_eq!(row.payload["id"], 7);
    assert_eq!(row.headers.len(), 0);
    assert_eq!(row.status, Status::Pending);
    assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    // Who handles it, and how often, is the first consumer's word.
    assert_eq!((&row.handler, row.max_retries), (&None, None));
    // Due at once: all times are the transaction's own.
    assert_eq!(row.next_attempt_at, Some(row.created_at));
    assert_eq!(row.occurred_at, row.created_at);
    assert_eq!(row.updated_at, row.created_at);
}

#[tokio::test]
async fn psql_runs_the_migrations() {
    let database = Database::empty().await;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    let mut migrations: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    migrations.sort();
    assert!(!migrations.is_empty());

    for migration in migrations {
        let psql = Command::new(Server::shared().program("psql"))
            .args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
            .arg("--single-transaction")
            .arg(format!("--file={}", migration.display()))
            .arg(database.url())
            .output()
            .unwrap();
        assert!(psql.status.success(), "{psql:?}");
    }
    assert_eq!(database.rows().await, []);
}
