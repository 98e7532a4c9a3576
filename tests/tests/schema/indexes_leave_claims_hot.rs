//! An update that changes no indexed column can stay on its page (HOT). Claims, renewals and
//! settles are such updates as long as no index knows the columns that they write.

use outbox_tests::Database;
use sqlx::query_as;

const WRITTEN_BY_CLAIMS: [&str; 6] = [
    "status",
    "claim_token",
    "lease_expires_at",
    "claimed_by",
    "updated_at",
    "recovery_count",
];

#[tokio::test]
async fn no_index_names_a_column_that_a_claim_writes() {
    let database = Database::new().await;
    // Columns of keys, of INCLUDE, of expressions and of predicates: an index depends on all.
    let columns: Vec<(String, String)> = query_as(
        "SELECT DISTINCT i.indexrelid::regclass::text, a.attname::text
         FROM pg_index i
         JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
         WHERE i.indrelid = 'outbox_events'::regclass",
    )
    .fetch_all(&database.pool())
    .await
    .unwrap();
    assert!(
        columns.contains(&("outbox_events_due".to_owned(), "processed_at".to_owned())),
        "the query sees predicates: {columns:?}"
    );
    for (index, column) in columns {
        assert!(
            !WRITTEN_BY_CLAIMS.contains(&column.as_str()),
            "{index} names {column}"
        );
    }
}
