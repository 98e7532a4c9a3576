//! The schema's own migrations.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::migrate::Migrator;

use crate::session::Sessions;

/// Which migrations were applied. Not `_sqlx_migrations`: that one is the application's.
const LEDGER: &str = "_outbox_migrations";

/// The schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// No connection, or it was lost.
    #[error("the database could not be reached to migrate the outbox's tables")]
    Connect(#[source] sqlx::Error),
    /// The database's encoding is not UTF8, which JSON needs.
    #[error(
        "the outbox needs a database with encoding UTF8, this one has {0}; create one with `ENCODING 'UTF8' TEMPLATE template0`"
    )]
    Encoding(String),
    /// A migration failed, or was changed after it had been applied.
    #[error("the outbox's tables could not be migrated")]
    Migration(#[source] sqlx::migrate::MigrateError),
}

/// Creates the outbox's tables, or brings them up to date, in the first schema of the connection's
/// `search_path`. Applied migrations are noted in `_outbox_migrations`; the application's own
/// migrations are not touched. Does nothing when all is up to date, or when a newer version has
/// already applied more.
///
/// Several processes may call it at once: one applies, the others wait. The role needs `CREATE` on
/// the schema and nothing else.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = outbox::sqlx::PgPool::connect("postgres://localhost/shop").await?;
/// outbox::migrate(&pool).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// When the database can't be reached, is not UTF8, or refuses a migration; each migration is
/// applied whole or not at all.
///
/// # Cancel safety
///
/// Cancel safe: what was not committed is rolled back, and a second call goes on from there.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    // A connection of its own: the lock that orders processes is the session's, so a session that
    // ends early gives it back, and none goes back into the application's pool with it.
    let limit = Duration::from_secs(30);
    let sessions = Sessions::like(pool, 1, limit, limit);
    let result = apply(sessions.pool()).await;
    sessions.close(limit).await;
    result
}

async fn apply(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await.map_err(MigrateError::Connect)?;
    let encoding: String = sqlx::query_scalar("SELECT current_setting('server_encoding')")
        .fetch_one(&mut *connection)
        .await
        .map_err(MigrateError::Connect)?;
    if encoding != "UTF8" {
        return Err(MigrateError::Encoding(encoding));
    }
    let mut migrator: Migrator = sqlx::migrate!("./migrations");
    migrator.dangerous_set_table_name(LEDGER);
    // What a newer version applied is there for that version. An older one that starts again, in a
    // rolling deployment or after a rollback, goes on with what it needs, which `start` checks.
    migrator.set_ignore_missing(true);
    migrator
        .run_direct(None, &mut *connection, false)
        .await
        .map_err(MigrateError::Migration)
}
