//! A settle whose reply was lost: the row says what became of it.

use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord, State, Status};
use outbox_tests::{Database, Line, Logged, eventually};

use crate::{Stage, all_sent, emit, lease, only};

/// How the settle begins.
const SETTLE: &str = "-- Writes the results";

#[derive(OutboxEvent)]
#[outbox(event = "in_doubt.told")]
struct Told {}

#[outbox::handler(event = "in_doubt.told", name = "in_doubt")]
async fn told(_: Told, State(stage): State<Stage>, State(line): State<Line>) {
    stage.begin();
    line.lose_replies();
}

async fn start(database: &Database, line: &Line, stage: &Stage) -> outbox::Outbox {
    emit(database, &[Told {}]).await;
    let options = database.connect_options().port(line.port());
    outbox::start(sqlx::PgPool::connect_lazy_with(options))
        .only(["in_doubt"])
        .listen(false)
        .lease(lease(60_000))
        .state(stage.clone())
        .state(line.clone())
        .await
        .unwrap()
}

#[tokio::test]
async fn stored_though_its_reply_was_lost_is_told_as_unknown_and_left_alone() {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    let line = Line::to(outbox_tests::Server::shared().port(), SETTLE).await;
    let outbox = start(&database, &line, &stage).await;
    let [sent] = all_sent(&database).await.try_into().unwrap();
    line.cut();
    eventually("the settle has failed", async || {
        !logged.with("settling failed").is_empty()
    })
    .await;
    line.mend();
    eventually("what is not known is told", async || {
        let told = logged.with("whether this attempt's result was stored is unknown");
        let told = told
            .iter()
            .any(|entry| entry.contains(&sent.id.to_string()));
        if told { Ok(()) } else { Err(logged.with("")) }
    })
    .await;
    outbox.shutdown().await.unwrap();
    assert_eq!(only(&database).await, sent);
    assert_eq!(stage.begun(), 1);
    assert_eq!(logged.with("lost claim").len(), 0);
}

#[tokio::test]
async fn not_stored_and_still_ones_own_is_settled_again() {
    let database = Database::new().await;
    let stage = Stage::new();
    // Ends the settle's own connection, twice: a sequence counts also what is rolled back.
    sqlx::raw_sql(
        "CREATE SEQUENCE settles;
         CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF nextval('settles') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
           RETURN NEW;
         END $$;
         CREATE TRIGGER cut BEFORE UPDATE ON outbox_events FOR EACH ROW
           WHEN (NEW.status = 'SENT') EXECUTE FUNCTION cut()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let line = Line::open(outbox_tests::Server::shared().port());
    emit(&database, &[Told {}]).await;
    let before = only(&database).await;
    let outbox = outbox::start(database.pool())
        .only(["in_doubt"])
        .poll_interval(Duration::from_mins(5))
        .state(stage.clone())
        .state(line)
        .await
        .unwrap();
    let [sent] = all_sent(&database).await.try_into().unwrap();
    let expected = OutboxRecord {
        status: Status::Sent,
        updated_at: sent.updated_at,
        processed_at: Some(sent.updated_at),
        ..before
    };
    assert_eq!(sent, expected);
    outbox.shutdown().await.unwrap();
    assert_eq!(stage.begun(), 1);
}

#[tokio::test]
async fn not_stored_and_another_ones_by_now_is_lost() {
    let database = Database::new().await;
    let stage = Stage::new();
    let logged = Logged::here();
    // The settle fails, and when it is judged another runtime has the row.
    sqlx::raw_sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events FOR EACH ROW
           WHEN (NEW.status = 'SENT') EXECUTE FUNCTION refuse()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let line = Line::open(outbox_tests::Server::shared().port());
    let outbox = start(&database, &line, &stage).await;
    eventually("the settle has failed", async || {
        !logged.with("settling failed").is_empty()
    })
    .await;
    crate::change(
        &database,
        "claim_token = gen_random_uuid(), claimed_by = 'another'",
    )
    .await;
    let taken = only(&database).await;
    eventually("the loss is told", async || {
        let told = logged.with("lost claim");
        let told = told
            .iter()
            .any(|entry| entry.contains(&taken.id.to_string()));
        if told { Ok(()) } else { Err(logged.with("")) }
    })
    .await;
    outbox.shutdown().await.unwrap();
    assert_eq!(only(&database).await, taken);
}
