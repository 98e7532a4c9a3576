//! What is noted of the migrations, and what a second run does with it.

use outbox::MigrateError;
use outbox::sqlx::{Executor, query_scalar};
use outbox_tests::Database;

use crate::{catalog, ledger, migrations};

#[tokio::test]
async fn the_second_run_changes_nothing() {
    let database = Database::empty().await;
    let pool = database.pool();
    outbox::migrate(&pool).await.unwrap();
    let (before, noted) = (catalog(&pool).await, ledger(&database).await);
    assert_eq!(noted.len(), migrations());

    outbox::migrate(&pool).await.unwrap();
    assert_eq!(catalog(&pool).await, before);
    assert_eq!(ledger(&database).await, noted);
}

#[tokio::test]
async fn what_a_newer_version_applied_does_not_stop_an_older_one() {
    let database = Database::new().await;
    database
        .pool()
        .execute(
            "INSERT INTO _outbox_migrations (version, description, success, checksum, execution_time)
             VALUES (99990101000000, 'from the future', true, 'x', 0)",
        )
        .await
        .unwrap();
    let noted = ledger(&database).await;
    outbox::migrate(&database.pool()).await.unwrap();
    assert_eq!(ledger(&database).await, noted);
}

#[tokio::test]
async fn a_migration_that_was_changed_afterwards_is_an_error() {
    let database = Database::new().await;
    database
        .pool()
        .execute("UPDATE _outbox_migrations SET checksum = 'x'")
        .await
        .unwrap();
    let error = outbox::migrate(&database.pool()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Migration(_)), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("has been modified"), "{source}");
}

#[tokio::test]
async fn one_that_fails_midway_leaves_nothing_and_is_tried_again() {
    let database = Database::empty().await;
    let pool = database.pool();
    pool.execute("CREATE TABLE outbox_handlers (mine int)")
        .await
        .unwrap();
    let error = outbox::migrate(&pool).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the outbox's tables could not be migrated"
    );
    let half: Option<String> = query_scalar("SELECT to_regclass('outbox_events')::text")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!((half, ledger(&database).await.len()), (None, 0));

    pool.execute("DROP TABLE outbox_handlers").await.unwrap();
    outbox::migrate(&pool).await.unwrap();
    assert_eq!(ledger(&database).await.len(), migrations());
    assert_eq!(database.rows().await, []);
}

#[tokio::test]
async fn a_pool_whose_only_connection_is_taken_can_migrate() {
    let database = Database::empty().await;
    let pool = database.pool_with(|options| options.max_connections(1));
    let held = pool.acquire().await.unwrap();
    outbox::migrate(&pool).await.unwrap();
    drop(held);
    assert_eq!(ledger(&database).await.len(), migrations());
}
