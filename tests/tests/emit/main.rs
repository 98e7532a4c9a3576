//! Emitting: what is written, what is refused, and what it costs.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod a11_transaction;
mod e5_numbers;
mod fan_out;
mod many;
mod max_retries;
mod metadata;
mod notifications;
mod refusals;
mod shapes;
mod statements;

use outbox_tests::Database;
use sqlx::{PgConnection, query};

/// Inserts a subscription as `start` does.
async fn subscribe(
    database: &Database,
    handler: &str,
    patterns: &[&str],
    max_retries: Option<i32>,
) {
    query("INSERT INTO outbox_handlers (handler, patterns, max_retries) VALUES ($1, $2, $3)")
        .bind(handler)
        .bind(patterns)
        .bind(max_retries)
        .execute(&database.pool())
        .await
        .unwrap();
}

/// Whether statements still work in the transaction.
async fn assert_usable(tx: &mut PgConnection) {
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(tx).await.unwrap();
    assert_eq!(one, 1);
}

/// The handlers of all rows, sorted; an unbound row's is `-`.
async fn handlers(database: &Database) -> Vec<String> {
    let rows = database.rows().await;
    let mut handlers: Vec<String> = rows
        .into_iter()
        .map(|row| row.handler.unwrap_or_else(|| "-".to_owned()))
        .collect();
    handlers.sort();
    handlers
}

/// An error with its sources in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = sources.map(ToString::to_string).collect();
    texts.join(": ")
}
