//! A record that something keeps from being recovered or bound holds up nobody else.

use outbox::{OutboxEvent, Status};
use outbox_tests::{Database, eventually};

use crate::{emit, execute};

#[derive(OutboxEvent)]
#[outbox(event = "refused.told")]
struct Told {}

#[outbox::handler(event = "refused.told", name = "refused")]
async fn told(_: Told) {}

#[tokio::test]
async fn a_recovery() {
    others_are_delivered_and_it_follows_once_it_may(
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, status, claim_token, lease_expires_at)
         VALUES ('refused.told', 'refused', 5, '{}', 'PROCESSING', gen_random_uuid(), now());
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events
           FOR EACH ROW WHEN (NEW.recovery_count > OLD.recovery_count) EXECUTE FUNCTION refuse()",
    )
    .await;
}

#[tokio::test]
async fn a_binding() {
    others_are_delivered_and_it_follows_once_it_may(
        "INSERT INTO outbox_events (event_type, payload) VALUES ('refused.told', '{}');
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events
           FOR EACH ROW WHEN (OLD.handler IS NULL) EXECUTE FUNCTION refuse()",
    )
    .await;
}

async fn others_are_delivered_and_it_follows_once_it_may(one: &str) {
    let database = Database::new().await;
    execute(&database, one).await;
    let outbox = outbox::start(database.pool())
        .only(["refused"])
        .poll_interval(std::time::Duration::from_millis(50))
        .await
        .unwrap();
    emit(&database, &[Told {}]).await;
    let sent = async |count: usize| {
        eventually(format!("{count} are delivered"), async || {
            let rows = database.rows().await;
            let sent = rows.iter().filter(|row| row.status == Status::Sent).count();
            if sent == count { Ok(()) } else { Err(sent) }
        })
        .await;
    };
    sent(1).await;
    execute(&database, "DROP TRIGGER refuse ON outbox_events").await;
    sent(2).await;
    outbox.shutdown().await.unwrap();
}
