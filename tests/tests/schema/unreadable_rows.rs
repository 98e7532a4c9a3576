//! A row whose JSON no client could read is refused where it is written.

use outbox_tests::Database;
use sqlx::query;

/// A number of a hundred thousand digits takes eight bytes as jsonb.
async fn insert(database: &Database, payload: &str, headers: &str) -> sqlx::Result<()> {
    query("INSERT INTO outbox_events (event_type, payload, headers) VALUES ('a', $1::text::jsonb, $2::text::jsonb)")
        .bind(payload)
        .bind(headers)
        .execute(&database.pool())
        .await
        .map(|_| ())
}

fn numbers(count: usize) -> String {
    format!("[{}1]", "1e100000,".repeat(count))
}

#[tokio::test]
async fn text_beyond_what_a_client_reads_is_refused() {
    let database = Database::new().await;
    let long = numbers(2_000);
    for (payload, headers) in [(long.as_str(), "{}"), ("1", &format!("{{\"a\":{long}}}"))] {
        let error = insert(&database, payload, headers).await.unwrap_err();
        let code = error
            .as_database_error()
            .and_then(|error| error.code().map(String::from));
        assert_eq!(code.as_deref(), Some("54000"), "{error}");
    }
    assert_eq!(database.rows().await, []);
}

#[tokio::test]
async fn large_and_odd_ones_that_can_be_read_are_taken() {
    let database = Database::new().await;
    insert(&database, &numbers(3), "{}").await.unwrap();
    let megabytes = format!("\"{}\"", "x".repeat(4 * 1024 * 1024));
    insert(&database, &megabytes, "{}").await.unwrap();
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox_events")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!(rows, 2);
}
