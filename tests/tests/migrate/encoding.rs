//! A database whose encoding is not UTF8.

use std::str::FromStr;

use outbox::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use outbox::sqlx::{AssertSqlSafe, Executor, query_scalar, raw_sql};
use outbox::{MigrateError, RawEvent, StartProblem};
use outbox_tests::{Database, Server};

#[outbox::handler(event = "encoding.happened", name = "encoding")]
async fn handle(_event: RawEvent) {}

#[tokio::test]
async fn it_is_refused_by_migrate_by_the_migration_and_by_start() {
    let server = Server::shared();
    let admin = Database::empty().await;
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = format!("encoding_{}", encoding.to_lowercase());
        let create = format!(
            "CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        );
        admin
            .pool()
            .execute(raw_sql(AssertSqlSafe(create)))
            .await
            .unwrap();
        let options = PgConnectOptions::from_str(&server.url(&name)).unwrap();
        let pool = PgPoolOptions::new().connect_lazy_with(options);

        let error = outbox::migrate(&pool).await.unwrap_err();
        assert!(
            matches!(&error, MigrateError::Encoding(found) if found == encoding),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!(
                "the outbox needs a database with encoding UTF8, this one has {encoding}; create one with `ENCODING 'UTF8' TEMPLATE template0`"
            )
        );
        let migration = include_str!("../../../migrations/0001_outbox.sql");
        let refused = pool.execute(migration).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("outbox needs a database with encoding UTF8"),
            "{refused}"
        );
        let tables: i64 =
            query_scalar("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
                .fetch_one(&pool)
                .await
                .unwrap();
        assert_eq!(tables, 0);

        let error = outbox::start(pool.clone())
            .only(["encoding"])
            .await
            .unwrap_err();
        let [StartProblem::Encoding(found), StartProblem::Schema { .. }] = error.problems() else {
            panic!("{error:?}");
        };
        assert_eq!(found, encoding);
        pool.close().await;
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        admin
            .pool()
            .execute(raw_sql(AssertSqlSafe(drop)))
            .await
            .unwrap();
    }
}
