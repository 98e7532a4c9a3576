//! Migrations: beside the application's own, from many processes at once, by roles of few rights.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod encoding;
mod i1_beside_the_application;
mod i2_at_once;
mod i4_grants;
mod ledger;
mod owner_of_a_schema;

use outbox::sqlx::{PgPool, query_scalar};
use outbox_tests::Database;

/// Every relation of the schema `public` with its oid: what a second run leaves alone.
async fn catalog(pool: &PgPool) -> Vec<String> {
    query_scalar(
        "SELECT format('%s %s %s', c.oid, c.relkind, c.relname) FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1",
    )
    .fetch_all(pool)
    .await
    .unwrap()
}

/// The ledger: version, description, whether it succeeded, and when.
async fn ledger(database: &Database) -> Vec<String> {
    query_scalar(
        "SELECT format('%s %s %s %s', version, description, success, installed_on)
         FROM _outbox_migrations ORDER BY version",
    )
    .fetch_all(&database.pool())
    .await
    .unwrap()
}

/// How many migrations there are.
fn migrations() -> usize {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    std::fs::read_dir(directory)
        .unwrap()
        .filter(|entry| {
            let path = entry.as_ref().unwrap().path();
            path.extension().is_some_and(|extension| extension == "sql")
        })
        .count()
}
