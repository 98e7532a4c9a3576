//! The exact grants that each kind of role needs, beside `USAGE` on the schema.

use std::time::Duration;

use outbox::sqlx::postgres::PgPoolOptions;
use outbox::sqlx::{AssertSqlSafe, Executor, PgPool, query, query_scalar, raw_sql};
use outbox::{Admin, Context, Mutation, OutboxEvent, Retry, Status};
use outbox_tests::{Database, eventually};

/// What a process that runs handlers, and its admin, need: no DELETE, no DDL.
const RUNTIME: [(&str, &str); 6] = [
    ("SELECT", "outbox_events"),
    ("INSERT", "outbox_events"),
    ("UPDATE", "outbox_events"),
    ("SELECT", "outbox_handlers"),
    ("INSERT", "outbox_handlers"),
    ("UPDATE", "outbox_handlers"),
];

/// What a process that only emits needs.
const PRODUCER: [(&str, &str); 2] = [("INSERT", "outbox_events"), ("SELECT", "outbox_handlers")];

#[derive(OutboxEvent)]
#[outbox(event = "grants.happened")]
struct Happened {
    fails: bool,
}

#[outbox::handler(name = "grants", max_retries = 2)]
async fn handle(event: Happened, context: Context) -> Result<(), &'static str> {
    if event.fails || context.attempt() == 1 {
        Err("no luck")
    } else {
        Ok(())
    }
}

/// A pool of a new role with these privileges, and no others.
async fn role(database: &Database, role: &str, grants: &[(&str, &str)]) -> PgPool {
    let grants: Vec<String> = grants
        .iter()
        .map(|(privilege, table)| format!("GRANT {privilege} ON {table} TO {role}"))
        .collect();
    let grants = grants.join("; ");
    let sql = format!(
        "REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE ROLE {role} LOGIN;
         GRANT USAGE ON SCHEMA public TO {role}; {grants}"
    );
    database
        .pool()
        .execute(raw_sql(AssertSqlSafe(sql)))
        .await
        .unwrap();
    PgPoolOptions::new().connect_lazy_with(database.connect_options().username(role))
}

async fn emit(pool: &PgPool, fails: bool) {
    let mut tx = pool.begin().await.unwrap();
    outbox::emit(&mut tx, &Happened { fails }).await.unwrap();
    outbox::emit_many(&mut tx, &[Happened { fails }])
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn i4_a_runtime_needs_to_select_insert_and_update_and_nothing_else() {
    let database = Database::new().await;
    let pool = role(&database, "grants_runtime", &RUNTIME).await;
    let outbox = outbox::start(pool.clone())
        .only(["grants"])
        .retry(Retry::default().initial_delay(Duration::from_millis(1)))
        .poll_interval(Duration::from_millis(50))
        .lease(outbox::Lease::default().duration(Duration::from_secs(2)))
        .await
        .unwrap();
    // Every transition: sent after a retry, failed, bound from plain SQL, recovered.
    emit(&pool, false).await;
    emit(&pool, true).await;
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('grants.happened', '{\"fails\": false}')")
        .execute(&pool)
        .await
        .unwrap();
    query(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, status, claim_token, lease_expires_at)
         VALUES ('grants.happened', 'grants', 2, '{\"fails\": false}', 'PROCESSING', gen_random_uuid(), now())",
    )
    .execute(&pool)
    .await
    .unwrap();
    outbox.drained().await.unwrap();
    let rows = database.rows().await;
    let of = |status| rows.iter().filter(move |row| row.status == status);
    assert_eq!(
        (of(Status::Sent).count(), of(Status::Failed).count()),
        (4, 2),
        "{rows:#?}"
    );

    let failed = of(Status::Failed).next().unwrap();
    let admin = Admin::operator(pool.clone());
    assert_eq!(admin.retry(failed.id).await.unwrap(), Mutation::Applied);
    eventually("it failed again", async || {
        let row = admin.get(failed.id).await.unwrap().unwrap();
        row.status == Status::Failed && row.retry_count == 3
    })
    .await;
    outbox.shutdown().await.unwrap();

    let ddl = pool
        .execute("CREATE TABLE mine (id int)")
        .await
        .unwrap_err();
    assert!(ddl.to_string().contains("permission denied"), "{ddl}");
    let delete = pool.execute("DELETE FROM outbox_events").await.unwrap_err();
    assert!(delete.to_string().contains("permission denied"), "{delete}");
}

#[tokio::test]
async fn i4_each_of_these_grants_is_needed() {
    let database = Database::new().await;
    for (number, (privilege, table)) in RUNTIME.iter().enumerate() {
        let others: Vec<_> = RUNTIME
            .iter()
            .copied()
            .filter(|other| other != &(*privilege, *table))
            .collect();
        let pool = role(&database, &format!("grants_less_{number}"), &others).await;
        let error = outbox::start(pool).only(["grants"]).await.unwrap_err();
        let text = format!("the role lacks the privileges {privilege} on {table}: ");
        assert!(error.to_string().contains(&text), "{error}");
    }
}

#[tokio::test]
async fn i4_a_producer_needs_to_insert_events_and_to_read_subscriptions() {
    let database = Database::new().await;
    let pool = role(&database, "grants_producer", &PRODUCER).await;
    emit(&pool, false).await;
    assert_eq!(database.rows().await.len(), 2);
    let read = query_scalar::<_, i64>("SELECT count(*) FROM outbox_events")
        .fetch_one(&pool)
        .await
        .unwrap_err();
    assert!(read.to_string().contains("permission denied"), "{read}");
}

#[tokio::test]
async fn i4_plain_sql_needs_to_insert_events() {
    let database = Database::new().await;
    let pool = role(&database, "grants_sql", &[("INSERT", "outbox_events")]).await;
    query("INSERT INTO outbox_events (event_type, payload) VALUES ('grants.happened', '{}')")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(database.rows().await.len(), 1);
}
