//! A transaction that commits long after others that began later.

use std::time::Duration;

use outbox::OutboxEvent;
use outbox_tests::Database;

use crate::{emit, execute, sent};

#[derive(OutboxEvent)]
#[outbox(event = "late_commit.told")]
struct Told {}

#[outbox::handler(event = "late_commit.told", name = "late_commit")]
async fn told(_: Told) {}

/// Commits a plain SQL producer's event, which no handler is chosen for, behind the position that
/// binding has reached meanwhile.
#[tokio::test]
async fn an_unbound_one_is_not_missed() {
    for (poll_interval, listen) in [(300_000, true), (50, false)] {
        let database = Database::new().await;
        let outbox = outbox::start(database.pool())
            .only(["late_commit"])
            .poll_interval(Duration::from_millis(poll_interval))
            .listen(listen)
            .await
            .unwrap();
        let sql =
            "INSERT INTO outbox_events (event_type, payload) VALUES ('late_commit.told', '{}');
            SELECT pg_notify('outbox_events', '')";
        let mut late = database.pool().begin().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut *late).await.unwrap();
        for delivered in 1..=5 {
            execute(&database, sql).await;
            sent(&database, delivered).await;
        }
        late.commit().await.unwrap();
        sent(&database, 6).await;
        outbox.shutdown().await.unwrap();
    }
}

/// Commits an event behind the position that the poller has reached meanwhile.
async fn commits_late(poll_interval: Duration, listen: bool) {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["late_commit"])
        .poll_interval(poll_interval)
        .listen(listen)
        .await
        .unwrap();
    let mut late = database.pool().begin().await.unwrap();
    outbox::emit(&mut late, &Told {}).await.unwrap();
    for delivered in 1..=10 {
        emit(&database, &[Told {}]).await;
        sent(&database, delivered).await;
    }
    late.commit().await.unwrap();
    sent(&database, 11).await;
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn its_notification_is_enough() {
    commits_late(Duration::from_secs(300), true).await;
}

#[tokio::test]
async fn polling_is_enough() {
    commits_late(Duration::from_millis(50), false).await;
}
