//! A database per test.

use std::str::FromStr;
use std::sync::atomic::Ordering;

use outbox::OutboxRecord;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};

use crate::log::{Log, LogMark};
use crate::rows::rows;
use crate::server::Server;

const TEMPLATE: &str = "outbox_template";

/// A database of one test: dropped with the value, connections or not.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
    admin_url: String,
    log: Log,
    pool: PgPool,
}

impl Database {
    /// A migrated database on the shared server.
    pub async fn new() -> Self {
        Self::on(Server::shared()).await
    }

    /// A database without any table, on the shared server.
    pub async fn empty() -> Self {
        Self::empty_on(Server::shared()).await
    }

    /// A migrated database on `server`. Fast: a copy of one that was migrated once.
    pub async fn on(server: &Server) -> Self {
        server
            .template
            .get_or_init(|| create_template(server))
            .await;
        Self::create(server, TEMPLATE).await
    }

    /// A database without any table, on `server`.
    pub async fn empty_on(server: &Server) -> Self {
        Self::create(server, "template0").await
    }

    async fn create(server: &Server, template: &str) -> Self {
        let number = server.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        let admin_url = server.url("postgres");
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template}");
        execute(&admin_url, sql).await;
        let url = server.url(&name);
        Self {
            pool: pool(&url, PgPoolOptions::new()),
            name,
            url,
            admin_url,
            log: server.log.clone(),
        }
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its URL, for another process or for connect options of the test's own.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How to connect, for changing: another role, a `search_path`, a statement cache.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        connect_options(&self.url)
    }

    /// The test's pool, of up to 10 connections; always the same.
    #[must_use]
    pub fn pool(&self) -> PgPool {
        self.pool.clone()
    }

    /// Another pool, with other options. Connects when it is used.
    pub fn pool_with(&self, options: impl FnOnce(PgPoolOptions) -> PgPoolOptions) -> PgPool {
        pool(&self.url, options(PgPoolOptions::new()))
    }

    /// A connection outside any pool: one that can stay open for as long as the test wants.
    pub async fn connect(&self) -> PgConnection {
        connect(&self.url).await
    }

    /// All rows of `outbox_events`, whole, in the order of their ids.
    pub async fn rows(&self) -> Vec<OutboxRecord> {
        rows(&self.pool).await.expect("the rows can be read")
    }

    /// Makes the server log every statement of this database, from connections opened after this.
    pub async fn log_statements(&self) {
        let sql = format!("ALTER DATABASE {} SET log_statement = 'all'", self.name);
        execute(&self.admin_url, sql).await;
    }

    /// The end of the server's log as it is now.
    #[must_use]
    pub fn log_mark(&self) -> LogMark {
        self.log.mark()
    }

    /// The entries that the server logged for this database since `mark`.
    #[must_use]
    pub fn log_since(&self, mark: LogMark) -> Vec<String> {
        self.log.entries_since(mark, &self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let admin_url = std::mem::take(&mut self.admin_url);
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // Beside the test, which need not wait for it. Where it fails, the server is about to go.
        std::thread::spawn(move || -> sqlx::Result<()> {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(async {
                    let mut admin = connect_options(&admin_url).connect().await?;
                    sqlx::raw_sql(AssertSqlSafe(sql))
                        .execute(&mut admin)
                        .await?;
                    admin.close().await
                })
        });
    }
}

/// The database that the others are copies of. A test that ended in the middle of it left half of
/// one.
async fn create_template(server: &Server) {
    let admin_url = server.url("postgres");
    execute(
        &admin_url,
        format!("DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)"),
    )
    .await;
    execute(
        &admin_url,
        format!("CREATE DATABASE {TEMPLATE} TEMPLATE template0"),
    )
    .await;
    let pool = pool(&server.url(TEMPLATE), PgPoolOptions::new());
    outbox::migrate(&pool).await.expect("the migrations run");
    pool.close().await;
}

fn pool(url: &str, options: PgPoolOptions) -> PgPool {
    options.connect_lazy_with(connect_options(url))
}

fn connect_options(url: &str) -> PgConnectOptions {
    PgConnectOptions::from_str(url).expect("the harness makes valid URLs")
}

async fn connect(url: &str) -> PgConnection {
    let connection = connect_options(url).connect().await;
    connection.unwrap_or_else(|error| panic!("connecting to {url}: {error}"))
}

async fn execute(url: &str, sql: String) {
    let mut connection = connect(url).await;
    let done = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
        .execute(&mut connection)
        .await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    connection.close().await.expect("the connection closes");
}
