//! An event is written in a transaction, or not at all.

use outbox::{EmitError, OutboxEvent};
use outbox_tests::Database;
use sqlx::{Acquire, query};

use crate::assert_usable;

#[derive(OutboxEvent)]
#[outbox(event = "a11_transaction.paid")]
struct Paid {
    order_id: u64,
}

const PAID: Paid = Paid { order_id: 7 };

#[tokio::test]
async fn a11_a_connection_outside_of_one_is_refused_before_any_sql() {
    let database = Database::new().await;
    database.log_statements().await;
    let pool = database.pool();
    let mut connection = pool.acquire().await.unwrap();
    let mark = database.log_mark();

    let one = outbox::emit(&mut connection, &PAID).await;
    let many = outbox::emit_many(&mut connection, &[PAID]).await;
    let none = outbox::emit_many::<Paid>(&mut connection, &[]).await;

    assert!(matches!(one, Err(EmitError::NotInTransaction)), "{one:?}");
    assert!(matches!(many, Err(EmitError::NotInTransaction)), "{many:?}");
    assert!(matches!(none, Err(EmitError::NotInTransaction)), "{none:?}");
    query("SELECT 'the end'")
        .execute(&mut *connection)
        .await
        .unwrap();
    outbox_tests::eventually("the log is written", async || {
        database
            .log_since(mark)
            .iter()
            .any(|entry| entry.contains("the end"))
    })
    .await;
    let log = database.log_since(mark);
    assert!(
        !log.iter().any(|entry| entry.contains("outbox_")),
        "{log:?}"
    );
    assert_eq!(database.rows().await, []);
}

#[tokio::test]
async fn it_shares_the_fate_of_the_transaction() {
    let database = Database::new().await;
    let pool = database.pool();

    let mut tx = pool.begin().await.unwrap();
    outbox::emit(&mut tx, &PAID).await.unwrap();
    assert_eq!(database.rows().await, [], "not before the commit");
    tx.rollback().await.unwrap();
    assert_eq!(database.rows().await, []);

    let mut tx = pool.begin().await.unwrap();
    let kept = outbox::emit(&mut tx, &PAID).await.unwrap();
    let mut nested = tx.begin().await.unwrap();
    outbox::emit(&mut nested, &PAID).await.unwrap();
    nested.rollback().await.unwrap();
    tx.commit().await.unwrap();

    let rows = database.rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].event_id, kept);
}

#[tokio::test]
async fn who_sent_begin_as_text_says_so() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    query("BEGIN").execute(&mut connection).await.unwrap();
    let refused = outbox::emit(&mut connection, &PAID).await;
    assert!(
        matches!(refused, Err(EmitError::NotInTransaction)),
        "{refused:?}"
    );

    outbox::emit(&mut connection, &PAID)
        .in_own_transaction()
        .await
        .unwrap();
    outbox::emit_many(&mut connection, &[PAID])
        .in_own_transaction()
        .await
        .unwrap();

    assert_eq!(database.rows().await, []);
    query("COMMIT").execute(&mut connection).await.unwrap();
    assert_eq!(database.rows().await.len(), 2);
}

#[tokio::test]
async fn missing_tables_say_what_to_run() {
    let database = Database::empty().await;
    let mut tx = database.pool().begin().await.unwrap();
    let error = outbox::emit(&mut tx, &PAID).await.unwrap_err();
    assert!(matches!(error, EmitError::NotMigrated(_)), "{error:?}");
    assert!(error.to_string().contains("outbox::migrate"), "{error}");
    tx.rollback().await.unwrap();

    let mut tx = database.pool().begin().await.unwrap();
    query("SELECT 1/0").execute(&mut *tx).await.unwrap_err();
    let error = outbox::emit(&mut tx, &PAID).await.unwrap_err();
    assert!(matches!(error, EmitError::Database(_)), "{error:?}");
    tx.rollback().await.unwrap();

    let mut tx = database.pool().begin().await.unwrap();
    assert_usable(&mut tx).await;
}

#[tokio::test]
async fn what_the_server_refuses_is_an_error_on_every_path() {
    let database = Database::new().await;
    sqlx::raw_sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
           AS 'BEGIN RAISE EXCEPTION ''closed for the day''; END';
         CREATE TRIGGER refuse BEFORE INSERT ON outbox_events FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    let one = outbox::emit(&mut tx, &PAID).await.unwrap_err();
    tx.rollback().await.unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    let many = outbox::emit_many(&mut tx, &[PAID]).await.unwrap_err();
    for error in [one, many] {
        assert!(matches!(error, EmitError::Database(_)), "{error:?}");
        assert!(
            crate::chain(&error).contains("closed for the day"),
            "{error:?}"
        );
    }
}
