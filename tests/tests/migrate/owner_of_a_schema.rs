//! A role that owns its schema and nothing else.

use outbox::RawEvent;
use outbox::serde_json::json;
use outbox::sqlx::postgres::PgPoolOptions;
use outbox::sqlx::{Executor, query_scalar};
use outbox_tests::Database;

#[outbox::handler(event = "owner.happened", name = "owner")]
async fn handle(_event: RawEvent) {}

#[tokio::test]
async fn it_migrates_and_runs() {
    let database = Database::empty().await;
    database
        .pool()
        .execute(
            "CREATE ROLE owner_of_a_schema LOGIN;
             REVOKE ALL ON SCHEMA public FROM PUBLIC;
             CREATE SCHEMA shop AUTHORIZATION owner_of_a_schema",
        )
        .await
        .unwrap();
    let options = database
        .connect_options()
        .username("owner_of_a_schema")
        .options([("search_path", "shop")]);
    let pool = PgPoolOptions::new().connect_lazy_with(options);
    let may_create: bool =
        query_scalar("SELECT has_database_privilege(current_database(), 'CREATE')")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert!(!may_create);

    outbox::migrate(&pool).await.unwrap();
    outbox::migrate(&pool).await.unwrap();
    let outbox = outbox::start(pool.clone()).only(["owner"]).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    outbox::emit(&mut tx, &RawEvent::new("owner.happened", &json!({})))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();
    let rows = outbox_tests::rows(&pool).await.unwrap();
    assert_eq!(rows.len(), 1);
    let schemas: Vec<String> =
        query_scalar("SELECT DISTINCT schemaname::text FROM pg_tables WHERE tablename ~ 'outbox'")
            .fetch_all(&database.pool())
            .await
            .unwrap();
    assert_eq!(schemas, ["shop"]);
}
