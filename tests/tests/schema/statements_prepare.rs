//! Every statement of the library fits the schema, and keeps to its rules.

use std::fs;
use std::path::{Path, PathBuf};

use outbox_tests::Database;
use sqlx::{AssertSqlSafe, Executor, SqlSafeStr, Statement};

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
