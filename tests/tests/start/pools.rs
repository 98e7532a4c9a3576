//! The application's pool, whatever it is like.

use outbox::sqlx::{Executor, PgPool, query, query_scalar};
use outbox::{OutboxEvent, Status};
use outbox_tests::{Database, eventually};

use crate::{emit, problems};

#[derive(OutboxEvent)]
#[outbox(event = "pools.happened")]
struct Happened {}

#[outbox::handler(name = "pools", max_retries = 1)]
async fn twice(_event: Happened, pool: PgPool) -> Result<(), outbox::sqlx::Error> {
    for _ in 0..2 {
        query("SELECT 1").execute(&pool).await?;
    }
    Ok(())
}

#[outbox::handler(name = "pools_idle", max_retries = 1)]
async fn idle(_event: Happened) {}

/// All open connections of the database, whoever has them.
async fn connections(database: &Database) -> i64 {
    let mut connection = database.connect().await;
    query_scalar("SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn g2_one_connection_is_enough_for_eight_handlers_that_use_it() {
    let database = Database::new().await;
    let pool = database.pool_with(|options| options.max_connections(1));
    let outbox = outbox::start(pool.clone())
        .only(["pools"])
        .concurrency(8)
        .await
        .unwrap();
    for _ in 0..40 {
        emit(&pool, &Happened {}).await;
    }
    eventually("all are sent", async || {
        let rows = database.rows().await;
        let rows = rows
            .iter()
            .filter(|row| row.handler.as_deref() == Some("pools"));
        rows.filter(|row| row.status == Status::Sent).count() == 40
    })
    .await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn g3_a_pool_that_the_application_exhausts_stops_nothing() {
    let database = Database::new().await;
    let pool = database.pool_with(|options| options.max_connections(2));
    let (held, too) = (pool.acquire().await.unwrap(), pool.acquire().await.unwrap());
    let outbox = outbox::start(pool.clone())
        .only(["pools_idle"])
        .await
        .unwrap();
    emit(&database.pool(), &Happened {}).await;
    eventually("it is sent", async || {
        let rows = database.rows().await;
        rows.iter().any(|row| row.status == Status::Sent)
    })
    .await;
    assert_eq!(pool.size(), 2);
    drop((held, too));
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_closed_pool_stops_nothing() {
    let database = Database::new().await;
    let pool = database.pool_with(|options| options);
    let outbox = outbox::start(pool.clone())
        .only(["pools_idle"])
        .await
        .unwrap();
    pool.close().await;
    emit(&database.pool(), &Happened {}).await;
    eventually("it is sent", async || {
        let rows = database.rows().await;
        rows.iter().any(|row| row.status == Status::Sent)
    })
    .await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn it_opens_four_connections_of_its_own_and_closes_them() {
    let database = Database::new().await;
    let pool = database.pool_with(|options| options);
    let outbox = outbox::start(pool.clone())
        .only(["pools_idle"])
        .await
        .unwrap();
    let mut emitter = database.connect().await;
    for _ in 0..200 {
        outbox::emit(&mut emitter, &Happened {})
            .in_own_transaction()
            .await
            .unwrap();
    }
    eventually("all are sent", async || {
        let rows = database.rows().await;
        let rows = rows
            .iter()
            .filter(|row| row.handler.as_deref() == Some("pools_idle"));
        rows.filter(|row| row.status == Status::Sent).count() == 200
    })
    .await;
    drop(emitter);
    database.pool().close().await;
    let open = connections(&database).await;
    assert!(open <= 5, "{open} with the one that may be closing");
    outbox.shutdown().await.unwrap();
    pool.close().await;
    eventually("all connections are closed", async || {
        let open = connections(&database).await;
        (open == 0).then_some(()).ok_or(open)
    })
    .await;
}

/// A pool whose connections see the schema `app`, by a hook, as applications of many tenants do it.
fn hooked(database: &Database) -> PgPool {
    database.pool_with(|options| {
        options.after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET search_path = app").await?;
                Ok(())
            })
        })
    })
}

#[tokio::test]
async fn a_hook_that_sets_the_search_path_holds_for_every_connection() {
    let database = Database::empty().await;
    query("CREATE SCHEMA app")
        .execute(&database.pool())
        .await
        .unwrap();
    let pool = hooked(&database);
    outbox::migrate(&pool).await.unwrap();
    let lease = outbox::Lease::default()
        .duration(std::time::Duration::from_millis(600))
        .heartbeat_interval(std::time::Duration::from_millis(50));
    let outbox = outbox::start(pool.clone())
        .only(["pools", "pools_idle"])
        .lease(lease)
        .await
        .unwrap();
    emit(&pool, &Happened {}).await;
    eventually("both records are sent", async || {
        let rows = outbox_tests::rows(&pool).await.unwrap();
        rows.len() == 2 && rows.iter().all(|row| row.status == Status::Sent)
    })
    .await;
    let elsewhere: bool = query_scalar(
        "SELECT to_regclass('public.outbox_events') IS NULL AND to_regclass('public._outbox_migrations') IS NULL",
    )
    .fetch_one(&database.pool())
    .await
    .unwrap();
    assert!(elsewhere, "everything stands in the schema `app`");
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn connections_that_see_another_table_are_refused() {
    let database = Database::new().await;
    query("CREATE SCHEMA app")
        .execute(&database.pool())
        .await
        .unwrap();
    outbox::migrate(&hooked(&database)).await.unwrap();
    // Set on a connection, not by the pool: new connections see another schema.
    let pool = database.pool_with(|options| options.max_connections(1));
    pool.execute("SET search_path = app").await.unwrap();
    let start = outbox::start(pool).only(["pools_idle"]);
    let expected = "the pool's connections see another table `outbox_events` than new connections do: set the `search_path` in the connect options or in `after_connect`, so that it is the same on all";
    assert_eq!(problems(start).await, [expected]);
}

#[tokio::test]
async fn one_database_holds_several_outboxes_in_schemas_of_their_own() {
    let database = Database::new().await;
    query("CREATE SCHEMA app")
        .execute(&database.pool())
        .await
        .unwrap();
    let app = hooked(&database);
    outbox::migrate(&app).await.unwrap();
    let outbox = outbox::start(database.pool())
        .only(["pools_idle"])
        .await
        .unwrap();
    let other = outbox::start(app.clone()).only(["pools"]).await.unwrap();
    emit(&app, &Happened {}).await;
    eventually("the one that runs there is sent", async || {
        let rows = outbox_tests::rows(&app).await.unwrap();
        let states: Vec<_> = rows
            .iter()
            .map(|row| (row.handler.clone().unwrap(), row.status))
            .collect();
        let expected = [
            ("pools".to_owned(), Status::Sent),
            ("pools_idle".to_owned(), Status::Pending),
        ];
        (states == expected).then_some(()).ok_or(states)
    })
    .await;
    assert_eq!(database.rows().await, []);
    other.shutdown().await.unwrap();
    emit(&database.pool(), &Happened {}).await;
    eventually("the other goes on", async || {
        let rows = database.rows().await;
        rows.iter().any(|row| row.status == Status::Sent)
    })
    .await;
    outbox.shutdown().await.unwrap();
}
