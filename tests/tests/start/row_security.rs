//! Row level security hides rows from a role without a word.

use outbox::OutboxEvent;
use outbox::sqlx::{Executor, PgPool, postgres::PgPoolOptions};
use outbox_tests::Database;

use crate::{emit, problems, sent};

#[derive(OutboxEvent)]
#[outbox(event = "row_security.happened")]
struct Happened {}

#[outbox::handler(name = "row_security")]
async fn handle(_event: Happened) {}

/// A pool of `role`, which owns nothing and may read and write the rows.
async fn pool_of(database: &Database, role: &str) -> PgPool {
    let sql = format!(
        "CREATE ROLE {role} LOGIN;
         GRANT SELECT, INSERT, UPDATE ON outbox_events, outbox_handlers TO {role}"
    );
    database
        .pool()
        .execute(outbox::sqlx::raw_sql(outbox::sqlx::AssertSqlSafe(sql)))
        .await
        .unwrap();
    PgPoolOptions::new().connect_lazy_with(database.connect_options().username(role))
}

#[tokio::test]
async fn a_role_that_would_not_see_all_rows_is_refused() {
    let database = Database::new().await;
    let pool = pool_of(&database, "row_security_one").await;
    let start = || outbox::start(pool.clone()).only(["row_security"]);
    for (sql, tables) in [
        (
            "ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY",
            "outbox_events",
        ),
        (
            "ALTER TABLE outbox_handlers ENABLE ROW LEVEL SECURITY",
            "outbox_events and outbox_handlers",
        ),
    ] {
        database.pool().execute(sql).await.unwrap();
        let expected = format!(
            "row level security hides rows of {tables} from this role: give the role BYPASSRLS, or exempt it by a policy's owner"
        );
        assert_eq!(problems(start()).await, [expected]);
    }

    database
        .pool()
        .execute("ALTER ROLE row_security_one BYPASSRLS")
        .await
        .unwrap();
    let outbox = start().await.unwrap();
    emit(&database.pool(), &Happened {}).await;
    sent(&database, 1).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_owner_is_exempt_unless_it_is_forced() {
    let database = Database::new().await;
    database
        .pool()
        .execute(
            "CREATE ROLE row_security_owner LOGIN;
             ALTER TABLE outbox_events OWNER TO row_security_owner;
             ALTER TABLE outbox_handlers OWNER TO row_security_owner;
             ALTER TABLE outbox_events ENABLE ROW LEVEL SECURITY",
        )
        .await
        .unwrap();
    let pool = PgPoolOptions::new()
        .connect_lazy_with(database.connect_options().username("row_security_owner"));
    let start = || outbox::start(pool.clone()).only(["row_security"]);
    start().await.unwrap().shutdown().await.unwrap();

    database
        .pool()
        .execute("ALTER TABLE outbox_events FORCE ROW LEVEL SECURITY")
        .await
        .unwrap();
    assert_eq!(problems(start()).await.len(), 1);
}
