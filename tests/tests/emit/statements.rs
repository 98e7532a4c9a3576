//! What the server thinks of the statements.

use outbox_tests::Database;
use sqlx::{Connection, query_scalar, raw_sql};

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
