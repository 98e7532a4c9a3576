//! Every statement of the library fits the schema, and keeps to its rules.

use std::fs;
use std::path::{Path, PathBuf};

use outbox_tests::Database;
use sqlx::{AssertSqlSafe, Connection, Executor, Row, SqlSafeStr, Statement, query, raw_sql};

fn statements() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox/src/sql");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 10, "the statements are found");
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    files
        .iter()
        .map(|file| (name(file), fs::read_to_string(file).unwrap()))
        .collect()
}

#[tokio::test]
async fn every_statement_prepares_against_the_migrated_schema() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    for (name, sql) in statements() {
        let prepared = connection
            .prepare(AssertSqlSafe(sql.clone()).into_sql_str())
            .await;
        let prepared = prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            !prepared.columns().is_empty(),
            "{name} tells nobody which rows it touched"
        );
    }
}

/// Names stand unqualified, so that the connection's `search_path` says which schema; and what a
/// statement answers is listed, so that a new column changes no prepared statement's shape.
#[test]
fn no_statement_names_a_schema_or_answers_with_all_columns() {
    for (name, sql) in statements() {
        let code: String = sql
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n");
        assert!(!code.contains("public."), "{name}");
        assert!(!code.to_uppercase().contains(" SET ROLE"), "{name}");
        let last = code
            .rfind("RETURNING")
            .or_else(|| code.rfind("SELECT"))
            .unwrap_or(0);
        assert!(!code[last..].contains("e.*"), "{name}");
    }
}

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
        for (name, sql) in statements() {
            let cost = generic_cost(&mut connection, &sql, highest_parameter(&sql)).await;
            assert!(cost < 50_000.0, "{name}: {cost} with {subscriptions}");
        }
    }
    connection.close().await.unwrap();
}

fn highest_parameter(sql: &str) -> usize {
    let numbers = sql.split('$').skip(1);
    let digits = numbers.map(|rest| {
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    });
    digits
        .filter_map(|digits| digits.parse().ok())
        .max()
        .unwrap_or(0)
}
