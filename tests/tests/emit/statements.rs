//! What the server thinks of the statements.

use outbox_tests::Database;
use sqlx::{AssertSqlSafe, Connection, Row, query, query_scalar, raw_sql};

const EMIT: &str = include_str!("../../../outbox/src/sql/emit.sql");
const EMIT_RENAMED: &str = include_str!("../../../outbox/src/sql/emit_renamed.sql");
const EMIT_MANY: &str = include_str!("../../../outbox/src/sql/emit_many.sql");

/// The planner's estimate for the plan that serves any parameters, the one that is kept.
async fn generic_cost(connection: &mut sqlx::PgConnection, sql: &str, parameters: usize) -> f64 {
    let nulls = vec!["NULL"; parameters].join(", ");
    for statement in [
        "SET plan_cache_mode = force_generic_plan".to_owned(),
        format!("PREPARE statement_{parameters} AS {sql}"),
    ] {
        raw_sql(AssertSqlSafe(statement))
            .execute(&mut *connection)
            .await
            .unwrap();
    }
    let explain = format!("EXPLAIN EXECUTE statement_{parameters}({nulls})");
    let top: String = raw_sql(AssertSqlSafe(explain))
        .fetch_one(&mut *connection)
        .await
        .unwrap()
        .get(0);
    let deallocate = format!("DEALLOCATE statement_{parameters}");
    raw_sql(AssertSqlSafe(deallocate))
        .execute(connection)
        .await
        .unwrap();
    let cost = top
        .split("..")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    cost.unwrap().parse().unwrap()
}

/// An estimate above `jit_above_cost` (100,000) makes the server compile a statement that runs for
/// a tenth of a millisecond; that took it most of a second.
#[tokio::test]
async fn estimates_stay_far_below_the_jit_compilers_threshold() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for subscriptions in [0, 1, 300] {
        query(
            "INSERT INTO outbox_handlers (handler, patterns, aliases)
             SELECT $1 || '.' || n, ARRAY['a.' || n, 'b.*', '*'], ARRAY['former.' || n]
             FROM generate_series(1, $1) n",
        )
        .bind(subscriptions)
        .execute(&mut connection)
        .await
        .unwrap();
        if subscriptions > 0 {
            query("ANALYZE outbox_handlers")
                .execute(&mut connection)
                .await
                .unwrap();
        }
        for (sql, parameters) in [(EMIT, 19), (EMIT_RENAMED, 21), (EMIT_MANY, 24)] {
            let cost = generic_cost(&mut connection, sql, parameters).await;
            assert!(cost < 10_000.0, "{cost} with {subscriptions}: {sql}");
        }
    }
    connection.close().await.unwrap();
}

/// Names come from the `search_path`, and the plan does not depend on the role's settings.
#[tokio::test]
async fn a_schema_of_its_own_is_found_by_the_search_path() {
    let database = Database::empty().await;
    let mut connection = database.connect().await;
    raw_sql("CREATE SCHEMA box; SET search_path = box")
        .execute(&mut connection)
        .await
        .unwrap();
    raw_sql(include_str!("../../../migrations/0001_outbox.sql"))
        .execute(&mut connection)
        .await
        .unwrap();
    let mut tx = connection.begin().await.unwrap();
    let event = outbox::RawEvent::from_text("statements.any", "1");
    outbox::emit(&mut tx, &event).await.unwrap();
    outbox::emit_many(&mut tx, [&event]).await.unwrap();
    tx.commit().await.unwrap();
    let rows: i64 = query_scalar("SELECT count(*) FROM box.outbox_events")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(rows, 2);
}
