//! The runtime's own connections, and how it runs a statement on them.
//!
//! They are made like the application's pool, its hooks included, but are never shared with it: an
//! application that fills its pool, leaves a transaction open on a connection or drops a future in
//! the middle of `BEGIN` can't harm a claim or a settle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Connection, PgPool, Postgres};
use tokio::time::timeout;

/// A statement on its way to the server.
pub(crate) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// The isolation level that the statements are written for.
const READ_COMMITTED: &str = "read committed";

/// The longest that the pool tries for a connection by itself: it waits a fifth of that between its
/// tries at most, so that a server which comes back is met within seconds, and it says nothing
/// meanwhile. Who wants a connection for longer asks again.
const LONGEST_ACQUIRE: Duration = Duration::from_secs(15);

/// A few connections of the runtime's own.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    pool: PgPool,
    /// The longest that a statement may take before its connection is given up.
    limit: Duration,
    /// Whether the server ends a statement, too, that takes longer.
    limited_by_server: bool,
    /// Whether statements need a transaction that says READ COMMITTED, as the role's default is
    /// another level. Never by SET: behind a pooler it would reach somebody else's session.
    explicit: Arc<AtomicBool>,
}

impl Sessions {
    /// At most `connections`, made as `pool` makes them. Must be called inside the tokio runtime
    /// that is going to use them.
    pub(crate) fn like(
        pool: &PgPool,
        connections: u32,
        connect_timeout: Duration,
        limit: Duration,
    ) -> Self {
        let pool = pool
            .options()
            .clone()
            .max_connections(connections)
            .min_connections(0)
            // A dead connection shows itself in the statement, which is tried again anyway.
            .test_before_acquire(false)
            .acquire_timeout(connect_timeout.clamp(Duration::from_millis(1), LONGEST_ACQUIRE))
            .connect_lazy_with(pool.connect_options().as_ref().clone());
        Self {
            pool,
            limit,
            limited_by_server: false,
            explicit: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The server, too, ends what takes longer than the limit.
    pub(crate) fn limited_by_server(mut self) -> Self {
        self.limited_by_server = true;
        self
    }

    /// Takes note of the server's default isolation level.
    pub(crate) fn default_isolation(&self, level: &str) {
        self.explicit
            .store(level != READ_COMMITTED, Ordering::Relaxed);
    }

    /// The pool behind it, for a listener.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Runs a statement and returns its rows. After any error the connection is closed, whatever
    /// state it was in.
    pub(crate) async fn fetch(&self, statement: Statement<'_>) -> sqlx::Result<Vec<PgRow>> {
        let begun = Instant::now();
        let mut connection = self.pool.acquire().await?;
        // A limit that the server knows, too, is one for the whole: the wait for a connection is
        // part of it.
        let limit = if self.limited_by_server {
            self.limit
                .saturating_sub(begun.elapsed())
                .max(Duration::from_millis(1))
        } else {
            self.limit
        };
        let result = match timeout(limit, self.run(&mut connection, statement, limit)).await {
            Ok(result) => result,
            Err(_) => Err(sqlx::Error::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("the server gave no answer for {limit:?}"),
            ))),
        };
        if let Err(error) = &result {
            if serialization_failure(error) {
                self.explicit.store(true, Ordering::Relaxed);
            }
            connection.close_on_drop();
        }
        result
    }

    async fn run(
        &self,
        connection: &mut PoolConnection<Postgres>,
        statement: Statement<'_>,
        limit: Duration,
    ) -> sqlx::Result<Vec<PgRow>> {
        if !self.limited_by_server && !self.explicit.load(Ordering::Relaxed) {
            return statement.fetch_all(&mut **connection).await;
        }
        let mut tx = connection
            .begin_with("BEGIN ISOLATION LEVEL READ COMMITTED")
            .await?;
        if self.limited_by_server {
            sqlx::query("SELECT set_config('statement_timeout', $1, true)")
                .bind(limit.as_millis().max(1).to_string())
                .execute(&mut *tx)
                .await?;
        }
        let rows = statement.fetch_all(&mut *tx).await?;
        tx.commit().await?;
        Ok(rows)
    }

    /// Closes the connections; waits no longer than `limit` for a server that does not answer.
    pub(crate) async fn close(&self, limit: Duration) {
        let _ = timeout(limit, self.pool.close()).await;
    }
}

/// SQLSTATE 40001: the level is not READ COMMITTED after all.
fn serialization_failure(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| code == "40001")
}

/// Whether the data of a statement was refused, so that the same statement will be refused again:
/// SQLSTATE classes 22, 23 and P0 (a trigger's own errors).
pub(crate) fn refuses_data(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| {
            ["22", "23", "P0"]
                .iter()
                .any(|class| code.starts_with(class))
        })
}
