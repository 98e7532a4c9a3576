//! Unbound rows of more types than there are slots, or than one look takes in.

use outbox::{RawEvent, State};
use outbox_tests::Database;
use std::time::{Duration, Instant};

use crate::{Runs, execute};

#[outbox::handler(event = "many_types.*", name = "many_types")]
async fn any(_: RawEvent, State(runs): State<Runs>) {
    runs.add();
}

async fn delayed(database: &Database, types: usize) {
    let sql = format!(
        "INSERT INTO outbox_events (event_type, payload, next_attempt_at)
         SELECT 'many_types.' || lpad(n::text, 5, '0'), '{{}}', now() + interval '1 day'
         FROM generate_series(1, {types}) n"
    );
    execute(database, &sql).await;
}

/// With one slot, each look at the table asks for one type only: the others must not wait for the
/// next poll, and the next.
#[tokio::test]
async fn a_due_row_does_not_wait_for_a_poll_of_each_type() {
    let database = Database::new().await;
    delayed(&database, 200).await;
    let runs = Runs::default();
    let outbox = outbox::start(database.pool())
        .only(["many_types"])
        .concurrency(1)
        .state(runs.clone())
        .await
        .unwrap();
    for (n, due) in ["00050", "00100", "00150", "a", "z"].iter().enumerate() {
        let told = Instant::now();
        let sql = format!(
            "INSERT INTO outbox_events (event_type, payload) VALUES ('many_types.{due}', '{{}}')"
        );
        execute(&database, &sql).await;
        runs.reach(n + 1).await;
        let took = told.elapsed();
        assert!(took < Duration::from_secs(10), "{due} took {took:?}");
    }
    outbox.shutdown().await.unwrap();
}

/// A look takes in a thousand types, and these are the ones that are due.
#[tokio::test]
async fn delayed_types_do_not_crowd_out_a_due_one() {
    let database = Database::new().await;
    delayed(&database, 1_100).await;
    let runs = Runs::default();
    let outbox = outbox::start(database.pool())
        .only(["many_types"])
        .state(runs.clone())
        .await
        .unwrap();
    execute(
        &database,
        "INSERT INTO outbox_events (event_type, payload) VALUES ('many_types.z', '{}')",
    )
    .await;
    runs.reach(1).await;
    outbox.shutdown().await.unwrap();
}
