//! A claim whose reply was lost: the server has made it, and nobody runs what it took.

use std::time::Duration;

use outbox::{Lease, OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, Line, Logged, Server, eventually};

use crate::{Runs, emit};

#[derive(OutboxEvent)]
#[outbox(event = "lost_reply.told")]
struct Told {}

#[outbox::handler(event = "lost_reply.told", name = "lost_reply")]
async fn told(_: Told, State(runs): State<Runs>) {
    runs.add();
}

#[tokio::test]
async fn what_it_took_is_given_back_without_waiting_for_the_lease() {
    for statement in [
        "-- Claims due records",
        "-- Claims due rows that have no handler",
    ] {
        let database = Database::new().await;
        let runs = Runs::default();
        let logged = Logged::here();
        let line = Line::to(Server::shared().port(), statement).await;
        let options = database.connect_options().port(line.port());
        if statement.contains("no handler") {
            crate::execute(
                &database,
                "INSERT INTO outbox_events (event_type, payload) VALUES ('lost_reply.told', '{}')",
            )
            .await;
        } else {
            emit(&database, &[Told {}]).await;
        }
        line.lose_replies();
        let outbox = outbox::start(sqlx::PgPool::connect_lazy_with(options))
            .only(["lost_reply"])
            .listen(false)
            .poll_interval(Duration::from_millis(20))
            // Recovery can't be what gives it back.
            .lease(Lease::default().duration(Duration::from_hours(1)))
            .state(runs.clone())
            .await
            .unwrap();
        let claimed = eventually("the server has made the claim", async || {
            let rows = database.rows().await;
            rows.into_iter()
                .find(|row| row.status == Status::Processing)
        })
        .await;
        assert_eq!(runs.count(), 0, "the reply is lost");
        line.cut();
        eventually("the claim has failed", async || {
            !logged.with("claiming failed").is_empty()
        })
        .await;
        line.mend();
        let sent = eventually("the record is delivered", async || {
            let rows = database.rows().await;
            rows.into_iter().find(|row| row.status == Status::Sent)
        })
        .await;
        let expected = OutboxRecord {
            status: Status::Sent,
            claim_token: None,
            lease_expires_at: None,
            claimed_by: None,
            next_attempt_at: sent.next_attempt_at,
            updated_at: sent.updated_at,
            processed_at: Some(sent.updated_at),
            ..claimed
        };
        assert_eq!(sent, expected, "no attempt and no lost lease is charged");
        assert_eq!(runs.count(), 1);
        outbox.shutdown().await.unwrap();
    }
}
