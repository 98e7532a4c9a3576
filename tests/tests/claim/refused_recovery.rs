//! A record that something keeps from being recovered holds up nobody else.

use outbox::{OutboxEvent, Status};
use outbox_tests::{Database, eventually};

use crate::{emit, execute};

#[derive(OutboxEvent)]
#[outbox(event = "refused_recovery.told")]
struct Told {}

#[outbox::handler(event = "refused_recovery.told", name = "refused_recovery")]
async fn told(_: Told) {}

#[tokio::test]
async fn others_are_delivered_and_it_follows_once_it_may() {
    let database = Database::new().await;
    execute(
        &database,
        "INSERT INTO outbox_events (event_type, handler, max_retries, payload, status, claim_token, lease_expires_at)
         VALUES ('refused_recovery.told', 'refused_recovery', 5, '{}', 'PROCESSING', gen_random_uuid(), now());
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events
           FOR EACH ROW WHEN (NEW.recovery_count > OLD.recovery_count) EXECUTE FUNCTION refuse()",
    )
    .await;
    let outbox = outbox::start(database.pool())
        .only(["refused_recovery"])
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
