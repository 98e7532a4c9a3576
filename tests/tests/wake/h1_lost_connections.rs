//! H1: every connection is ended, again and again, in the middle of work.

use std::time::Duration;

use outbox::{Context, OutboxEvent, Retry, Status};
use outbox_tests::{Database, eventually, eventually_within};

use crate::{NEVER, delivered, terminate_all};

#[derive(OutboxEvent)]
#[outbox(event = "h1.asked")]
struct Asked {
    good: i32,
}

#[outbox::handler(event = "h1.asked", name = "h1")]
async fn asked(event: Asked, context: Context) -> Result<(), &'static str> {
    tokio::task::yield_now().await;
    if context.attempt() < event.good {
        Err("no")
    } else {
        Ok(())
    }
}

#[tokio::test]
async fn h1_work_goes_on_by_itself_and_attempts_are_exact() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    let outbox = outbox::start(database.pool_with(|options| options))
        .only(["h1"])
        .concurrency(4)
        .batch_size(10)
        .poll_interval(NEVER)
        .retry(Retry::default().initial_delay(Duration::from_millis(1)))
        .await
        .unwrap();
    let events: Vec<Asked> = (0..300).map(|n| Asked { good: 1 + n % 3 }).collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();

    let open = "SELECT count(*) FROM outbox_events WHERE processed_at IS NULL";
    let mut rounds = 0;
    let mut left = 300_i64;
    while left > 0 && rounds < 12 {
        rounds += 1;
        terminate_all(&mut connection).await;
        // Some progress between two ends, so that the test ends, too.
        left = eventually_within(Duration::from_mins(1), "work goes on", async || {
            let now: i64 = sqlx::query_scalar(open)
                .fetch_one(&mut connection)
                .await
                .unwrap();
            (now == 0 || now < left).then_some(now)
        })
        .await;
    }
    eventually_within(Duration::from_mins(1), "all are delivered", async || {
        sqlx::query_scalar::<_, i64>(open)
            .fetch_one(&mut connection)
            .await
            .unwrap()
            == 0
    })
    .await;
    assert!(rounds > 1);
    for row in database.rows().await {
        let failures = row.payload["good"].as_i64().unwrap() - 1;
        assert_eq!(
            (row.status, i64::from(row.retry_count)),
            (Status::Sent, failures)
        );
    }

    // The listener is back, too.
    eventually("the runtime listens", async || {
        sqlx::query_scalar::<_, bool>(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN%')",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap()
    })
    .await;
    let emitted = database.emit(&Asked { good: 1 }).await;
    delivered(&database, &emitted).await;
    outbox.shutdown().await.unwrap();
}
