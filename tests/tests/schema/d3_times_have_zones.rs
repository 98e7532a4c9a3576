//! D3: a time without a zone means another moment to every session.

use outbox_tests::Database;
use sqlx::query_as;

#[tokio::test]
async fn d3_every_time_column_is_timestamptz() {
    let database = Database::new().await;
    let times: Vec<(String, String, String)> = query_as(
        "SELECT table_name::text, column_name::text, data_type::text
         FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name LIKE 'outbox\\_%'
           AND (data_type ~ 'time|date' OR column_name ~ '_at$')
         ORDER BY 1, 2",
    )
    .fetch_all(&database.pool())
    .await
    .unwrap();
    assert!(
        times.iter().any(|(_, column, _)| column == "created_at"),
        "the query finds the columns"
    );
    for (table, column, data_type) in times {
        assert_eq!(data_type, "timestamp with time zone", "{table}.{column}");
    }
}
