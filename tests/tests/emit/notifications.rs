//! The wake of the pollers: with the commit, once per transaction, on the channel asked for.

use std::time::Duration;

use outbox::{EmitError, Emitter, OutboxEvent};
use outbox_tests::Database;
use sqlx::PgConnection;
use sqlx::postgres::{PgListener, PgNotification};

#[derive(OutboxEvent)]
#[outbox(event = "notifications.paid")]
struct Paid {
    filler: String,
}

fn paid(size: usize) -> Paid {
    Paid {
        filler: "x".repeat(size),
    }
}

const CHANNELS: [&str; 2] = ["outbox_events", "notifications_other"];

/// What arrives of a transaction in which `emit` ran: channels and payloads. A notification of its
/// own says that all have come.
async fn notified(
    database: &Database,
    emit: impl AsyncFnOnce(&mut PgConnection),
) -> Vec<(String, String)> {
    let mut listener = PgListener::connect_with(&database.pool()).await.unwrap();
    listener.listen_all(CHANNELS).await.unwrap();
    listener.listen("the_end").await.unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    emit(&mut tx).await;
    let early = tokio::time::timeout(Duration::from_millis(50), listener.recv()).await;
    assert!(early.is_err(), "before the commit: {early:?}");
    tx.commit().await.unwrap();
    sqlx::query("NOTIFY the_end")
        .execute(&database.pool())
        .await
        .unwrap();
    let mut seen = Vec::new();
    loop {
        let notification: PgNotification = listener.recv().await.unwrap();
        if notification.channel() == "the_end" {
            return seen;
        }
        seen.push((
            notification.channel().to_owned(),
            notification.payload().to_owned(),
        ));
    }
}

fn once_on(channel: &str) -> Vec<(String, String)> {
    vec![(channel.to_owned(), String::new())]
}

#[tokio::test]
async fn h8_a_transaction_notifies_once_whatever_it_emits() {
    let database = Database::new().await;
    let seen = notified(&database, async |tx| {
        let lines: Vec<Paid> = std::iter::repeat_with(|| paid(1)).take(10_000).collect();
        outbox::emit_many(tx, &lines).await.unwrap();
        outbox::emit(tx, &paid(1_000_000)).await.unwrap();
        outbox::emit(tx, &paid(1))
            .delay(Duration::from_mins(1))
            .await
            .unwrap();
    })
    .await;
    assert_eq!(seen, once_on("outbox_events"));
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox_events")
        .fetch_one(&database.pool())
        .await
        .unwrap();
    assert_eq!(rows, 10_002);
}

#[tokio::test]
async fn an_emitter_has_its_own_channel_or_none() {
    let database = Database::new().await;
    let other = Emitter::builder()
        .channel("notifications_other")
        .build()
        .unwrap();
    let seen = notified(&database, async |tx| {
        other.emit(tx, &paid(1)).await.unwrap();
        other.emit_many(tx, &[paid(1)]).await.unwrap();
    })
    .await;
    assert_eq!(seen, once_on("notifications_other"));

    let quiet = Emitter::builder().notify(false).build().unwrap();
    let seen = notified(&database, async |tx| {
        quiet.emit(tx, &paid(1)).await.unwrap();
        quiet.emit_many(tx, &[paid(1)]).await.unwrap();
    })
    .await;
    assert_eq!(seen, []);
    assert_eq!(database.rows().await.len(), 4);
}

#[tokio::test]
async fn h9_bad_channels_are_refused_when_the_emitter_is_built() {
    for bad in ["", "Jobs", "a\"b", "a b", "1a", "é", &"x".repeat(64)] {
        let error = Emitter::builder().channel(bad).build().unwrap_err();
        assert!(
            matches!(error, EmitError::InvalidChannel(_)),
            "{bad}: {error:?}"
        );
    }
    let database = Database::new().await;
    for good in ["a", "_1$", &"x".repeat(63), "select"] {
        let emitter = Emitter::builder().channel(good).build().unwrap();
        let mut tx = database.pool().begin().await.unwrap();
        emitter.emit(&mut tx, &paid(1)).await.unwrap();
        tx.commit().await.unwrap();
    }
}
