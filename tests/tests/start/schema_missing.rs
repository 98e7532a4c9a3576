//! A schema that is missing, or older than needed.

use outbox::OutboxEvent;
use outbox::sqlx::{Executor, postgres::PgPoolOptions};
use outbox_tests::Database;

use crate::{emit, problems, sent};

#[derive(OutboxEvent)]
#[outbox(event = "schema_missing.happened")]
struct Happened {}

#[outbox::handler(name = "schema_missing")]
async fn handle(_event: Happened) {}

fn text(missing: &str) -> String {
    format!(
        "the schema is missing or older than needed ({missing}, with search_path \"$user\", public): call `outbox::migrate(&pool).await?` before `start`, or check the `search_path`"
    )
}

#[tokio::test]
async fn without_tables_start_names_them_and_migrate_is_the_mend() {
    let database = Database::empty().await;
    let start = || outbox::start(database.pool()).only(["schema_missing"]);
    let expected = text("table outbox_events, table outbox_handlers");
    assert_eq!(problems(start()).await, [expected]);

    outbox::migrate(&database.pool()).await.unwrap();
    let outbox = start().await.unwrap();
    emit(&database.pool(), &Happened {}).await;
    sent(&database, 1).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn each_object_that_is_missing_is_named() {
    for (sql, missing) in [
        (
            "ALTER TABLE outbox_events DROP COLUMN ordering_key",
            "column outbox_events.ordering_key",
        ),
        (
            "ALTER TABLE outbox_events DROP COLUMN causation_id, DROP COLUMN aggregate_id;
             ALTER TABLE outbox_handlers RENAME COLUMN aliases TO former_names",
            "column outbox_events.aggregate_id, column outbox_events.causation_id, column outbox_handlers.aliases",
        ),
        (
            "DROP INDEX outbox_events_unbound_due",
            "index outbox_events_unbound_due",
        ),
        ("DROP TABLE outbox_handlers", "table outbox_handlers"),
    ] {
        let database = Database::new().await;
        database.pool().execute(sql).await.unwrap();
        let start = outbox::start(database.pool()).only(["schema_missing"]);
        assert_eq!(problems(start).await, [text(missing)], "{sql}");
    }
}

#[tokio::test]
async fn what_the_role_may_not_do_is_named() {
    let database = Database::new().await;
    database
        .pool()
        .execute(
            "CREATE ROLE schema_missing_reader LOGIN;
             GRANT SELECT ON outbox_events TO schema_missing_reader;
             GRANT SELECT, INSERT ON outbox_handlers TO schema_missing_reader",
        )
        .await
        .unwrap();
    let pool = PgPoolOptions::new()
        .connect_lazy_with(database.connect_options().username("schema_missing_reader"));
    let start = outbox::start(pool).only(["schema_missing"]);
    let expected = "the role lacks the privileges INSERT on outbox_events, UPDATE on outbox_events, UPDATE on outbox_handlers: `GRANT SELECT, INSERT, UPDATE ON outbox_events, outbox_handlers TO …`";
    assert_eq!(problems(start).await, [expected]);
}
