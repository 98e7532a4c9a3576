//! Two runtimes on one table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use outbox::{OutboxEvent, State, Status};
use outbox_tests::Database;
use tokio::sync::Barrier;

use crate::NEVER;

#[derive(OutboxEvent)]
#[outbox(event = "shared_table.asked")]
enum Asked {
    /// Needs two runs at once.
    Both,
    Number(u32),
}

#[derive(Clone)]
struct Seen {
    both: Arc<Barrier>,
    counts: Arc<Mutex<HashMap<u32, u32>>>,
}

#[outbox::handler(event = "shared_table.asked", name = "shared_table")]
async fn asked(event: Asked, State(seen): State<Seen>) {
    match event {
        Asked::Both => {
            seen.both.wait().await;
        }
        Asked::Number(number) => *seen.counts.lock().unwrap().entry(number).or_default() += 1,
    }
}

#[tokio::test]
async fn both_work_and_each_record_is_delivered_once() {
    let database = Database::new().await;
    database.keep_history().await;
    let seen = Seen {
        both: Arc::new(Barrier::new(2)),
        counts: Arc::default(),
    };
    let mut runtimes = Vec::new();
    for _ in 0..2 {
        let started = outbox::start(database.pool())
            .only(["shared_table"])
            .concurrency(1)
            .poll_interval(NEVER)
            .state(seen.clone())
            .await;
        runtimes.push(started.unwrap());
    }
    // One slot each: both must have been woken for these two.
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &[Asked::Both, Asked::Both])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    runtimes[0].drained().await.unwrap();

    for round in 0..20 {
        let events: Vec<Asked> = (0..15).map(|n| Asked::Number(round * 15 + n)).collect();
        let mut tx = database.pool().begin().await.unwrap();
        outbox::emit_many(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
    }
    runtimes[1].drained().await.unwrap();
    for outbox in runtimes {
        outbox.shutdown().await.unwrap();
    }
    let counts = seen.counts.lock().unwrap().clone();
    assert_eq!(counts, (0..300).map(|number| (number, 1)).collect());
    for row in database.rows().await {
        assert_eq!((row.status, row.retry_count), (Status::Sent, 0));
        let history = database.history(row.id).await;
        let states: Vec<Status> = history.iter().map(|row| row.status).collect();
        assert_eq!(states, [Status::Pending, Status::Processing, Status::Sent]);
    }
}
