//! What `start` writes of the handlers that it runs.

use outbox::RawEvent;
use outbox::chrono::{DateTime, Utc};
use outbox::sqlx::{PgPool, query_scalar};
use outbox_tests::Database;

use crate::{NEW, OLD, run, stop, subscription, subscriptions};

#[outbox::handler(event = "upsert.one", name = "upsert_one")]
async fn one(_event: RawEvent) {}

#[outbox::handler(event = "upsert.two", name = "upsert_two")]
async fn two(_event: RawEvent) {}

#[outbox::handler(event = "upsert.three", name = "upsert_three")]
async fn three(_event: RawEvent) {}

async fn seen(pool: &PgPool, handler: &str) -> DateTime<Utc> {
    query_scalar("SELECT last_seen_at FROM outbox_handlers WHERE handler = $1")
        .bind(handler)
        .fetch_one(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn patterns_are_added_and_never_removed_the_rest_is_overwritten() {
    let database = Database::new().await;
    let mail = subscription("mail", &["order.created"], None, &[]);
    let notify = subscription("notify", &["order.created"], None, &["mail"]);
    let bill = subscription("bill", &["order.created"], None, &[]);

    let older = run(OLD, &database).await;
    let first = subscription("ship", &["order.created"], Some(3), &["dispatch_order"]);
    assert_eq!(subscriptions(&database).await, [mail.clone(), first]);
    let before = seen(&database.pool(), "ship").await;

    let newer = run(NEW, &database).await;
    let both = &["order.*", "order.created"];
    let second = subscription("ship", both, Some(7), &[]);
    assert_eq!(
        subscriptions(&database).await,
        [bill.clone(), mail.clone(), notify.clone(), second]
    );
    assert!(seen(&database.pool(), "ship").await > before);

    // The older version restarts: what the newer one wants stays.
    stop(older).await;
    let older = run(OLD, &database).await;
    let third = subscription("ship", both, Some(3), &["dispatch_order"]);
    assert_eq!(subscriptions(&database).await, [bill, mail, notify, third]);
    stop(older).await;
    stop(newer).await;
    assert_eq!(subscriptions(&database).await.len(), 4);
}

#[tokio::test]
async fn many_starts_at_once_in_whatever_order_do_not_deadlock() {
    let database = Database::new().await;
    let mark = database.log_mark();
    let orders = [
        ["upsert_one", "upsert_two", "upsert_three"],
        ["upsert_three", "upsert_two", "upsert_one"],
        ["upsert_two", "upsert_three", "upsert_one"],
    ];
    for _ in 0..4 {
        let starts: Vec<_> = (0..12)
            .map(|i| {
                let start = outbox::start(database.pool())
                    .only(orders[i % 3])
                    .listen(false);
                tokio::spawn(async move {
                    let outbox = start.await.unwrap();
                    outbox.shutdown().await.unwrap();
                })
            })
            .collect();
        for start in starts {
            start.await.unwrap();
        }
    }
    assert_eq!(subscriptions(&database).await.len(), 3);
    let log = database.log_since(mark);
    assert!(
        !log.iter().any(|entry| entry.contains("deadlock")),
        "{log:#?}"
    );
}

#[tokio::test]
async fn only_what_runs_is_subscribed() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["upsert_one", "upsert_two"])
        .except(["upsert_two"])
        .await
        .unwrap();
    let expected = subscription("upsert_one", &["upsert.one"], None, &[]);
    assert_eq!(subscriptions(&database).await, [expected]);
    outbox.shutdown().await.unwrap();
}
