//! The attempts of a record, from whoever says so first: the call, the linked handler's attribute,
//! the subscription, the event's attribute, the emitter, 5.

use outbox::{Emitter, OutboxEvent};
use outbox_tests::Database;
use sqlx::query;

use crate::subscribe;

#[derive(OutboxEvent)]
#[outbox(event = "max_retries.plain")]
struct Plain;

#[derive(OutboxEvent)]
#[outbox(event = "max_retries.limited", max_retries = 20)]
struct Limited;

#[derive(OutboxEvent)]
#[outbox(event = "max_retries.attributed", max_retries = 20)]
struct Attributed;

#[outbox::handler(name = "max_retries.attributed", max_retries = 40)]
async fn attributed(_event: Attributed) {}

#[derive(OutboxEvent)]
#[outbox(event = "max_retries.linked", max_retries = 20)]
struct Linked;

#[outbox::handler(name = "max_retries.linked")]
async fn linked(_event: Linked) {}

/// What the emitter and the call say.
#[derive(Clone, Copy)]
struct Says {
    emitter: Option<i32>,
    call: Option<i32>,
}

const NOBODY: Says = Says {
    emitter: None,
    call: None,
};
const EMITTER: Says = Says {
    emitter: Some(10),
    call: None,
};
const CALL: Says = Says {
    emitter: Some(10),
    call: Some(50),
};

/// The limit of the event's only record, the same on both paths.
async fn limit<E: OutboxEvent>(database: &Database, event: &E, says: Says) -> Option<i32> {
    let mut builder = Emitter::builder();
    if let Some(attempts) = says.emitter {
        builder = builder.max_retries(attempts);
    }
    let emitter = builder.build().unwrap();
    query("TRUNCATE outbox_events")
        .execute(&database.pool())
        .await
        .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    let mut one = emitter.emit(&mut tx, event);
    if let Some(attempts) = says.call {
        one = one.max_retries(attempts);
    }
    one.await.unwrap();
    let mut many = emitter.emit_many(&mut tx, [event]);
    if let Some(attempts) = says.call {
        many = many.max_retries(attempts);
    }
    many.await.unwrap();
    tx.commit().await.unwrap();
    let rows = database.rows().await;
    let [one, many] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(one.max_retries, many.max_retries);
    one.max_retries
}

#[tokio::test]
async fn a_row_without_a_handler_keeps_only_what_the_call_says() {
    let database = Database::new().await;
    assert_eq!(limit(&database, &Plain, NOBODY).await, None);
    assert_eq!(limit(&database, &Limited, EMITTER).await, None);
    assert_eq!(limit(&database, &Limited, CALL).await, Some(50));
}

#[tokio::test]
async fn of_a_subscribed_handler() {
    let database = Database::new().await;
    subscribe(&database, "bare", &["max_retries.*"], None).await;
    assert_eq!(limit(&database, &Plain, NOBODY).await, Some(5));
    assert_eq!(limit(&database, &Plain, EMITTER).await, Some(10));
    assert_eq!(limit(&database, &Limited, EMITTER).await, Some(20));
    query("UPDATE outbox_handlers SET max_retries = 30")
        .execute(&database.pool())
        .await
        .unwrap();
    assert_eq!(limit(&database, &Limited, EMITTER).await, Some(30));
    assert_eq!(limit(&database, &Limited, CALL).await, Some(50));
}

#[tokio::test]
async fn of_a_linked_handler() {
    let database = Database::new().await;
    assert_eq!(limit(&database, &Attributed, EMITTER).await, Some(40));
    assert_eq!(limit(&database, &Linked, EMITTER).await, Some(20));
    subscribe(
        &database,
        "max_retries.attributed",
        &["max_retries.attributed"],
        Some(30),
    )
    .await;
    subscribe(
        &database,
        "max_retries.linked",
        &["max_retries.linked"],
        Some(30),
    )
    .await;
    assert_eq!(limit(&database, &Attributed, EMITTER).await, Some(40));
    assert_eq!(limit(&database, &Linked, EMITTER).await, Some(30));
    assert_eq!(limit(&database, &Attributed, CALL).await, Some(50));
}

#[tokio::test]
async fn c3_limits_from_one_to_the_largest() {
    let database = Database::new().await;
    subscribe(&database, "bare", &["max_retries.plain"], None).await;
    for attempts in [1, 3, i32::MAX] {
        let says = Says {
            emitter: None,
            call: Some(attempts),
        };
        assert_eq!(limit(&database, &Plain, says).await, Some(attempts));
        let says = Says {
            emitter: Some(attempts),
            call: None,
        };
        assert_eq!(limit(&database, &Plain, says).await, Some(attempts));
    }
}
