//! The application's own migrations, by the same library, in the same schema.

use std::path::{Path, PathBuf};

use outbox::sqlx::migrate::Migrator;
use outbox::sqlx::{PgPool, query_scalar};
use outbox_tests::{Database, Server};

use crate::{ledger, migrations};

/// The application's directory of migrations, gone with the server.
struct Application(PathBuf);

impl Application {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!(
            "outbox-{}-{}-{name}",
            std::process::id(),
            Server::shared().port()
        ));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn add(&self, name: &str, sql: &str) {
        std::fs::write(self.0.join(name), sql).unwrap();
    }

    async fn migrate(&self, pool: &PgPool) {
        let migrator = Migrator::new(Path::new(&self.0)).await.unwrap();
        migrator.run(pool).await.unwrap();
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        // A directory that is left is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn applied(pool: &PgPool) -> i64 {
    query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success")
        .fetch_one(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn i1_the_applications_migrations_first() {
    let database = Database::empty().await;
    let pool = database.pool();
    let application = Application::new("first");
    application.add("1_orders.sql", "CREATE TABLE orders (id int)");
    application.migrate(&pool).await;
    outbox::migrate(&pool).await.unwrap();

    // It grows, and both run again at every start of the application.
    application.add("2_items.sql", "CREATE TABLE items (id int)");
    for _ in 0..2 {
        application.migrate(&pool).await;
        outbox::migrate(&pool).await.unwrap();
    }
    assert_eq!(applied(&pool).await, 2);
    assert_eq!(ledger(&database).await.len(), migrations());
}

#[tokio::test]
async fn i1_ours_first_and_growing_between() {
    let database = Database::empty().await;
    let pool = database.pool();
    let application = Application::new("second");
    outbox::migrate(&pool).await.unwrap();
    application.add("1_orders.sql", "CREATE TABLE orders (id int)");
    application.migrate(&pool).await;

    // As if ours had one migration less until now: the application's later one is no obstacle.
    application.add(
        "20990101000000_items.sql",
        "DROP TABLE outbox_events, outbox_handlers; DELETE FROM _outbox_migrations",
    );
    application.migrate(&pool).await;
    outbox::migrate(&pool).await.unwrap();
    application.migrate(&pool).await;
    assert_eq!(applied(&pool).await, 2);
    assert_eq!(ledger(&database).await.len(), migrations());
    assert_eq!(database.rows().await, []);
}
