//! Stopping, pausing and draining: what ends, what is given back, what goes on.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod b2_in_the_middle_of_a_claim;
mod beyond_the_timeout;
mod calls;
mod drained;
mod h11_server_down;
mod pause;
mod running_handlers_finish;
mod server_gone;
mod unstarted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outbox::sqlx::PgPool;
use outbox::{EventId, OutboxEvent, OutboxRecord, Status};
use outbox_tests::{Database, eventually};
use tokio::sync::Semaphore;

/// What a test's handlers wait at, until the test lets them through.
#[derive(Debug, Clone)]
struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    arrived: AtomicUsize,
    passes: Semaphore,
}

impl Gate {
    fn closed() -> Self {
        Self(Arc::new(Inner {
            arrived: AtomicUsize::new(0),
            passes: Semaphore::new(0),
        }))
    }

    /// For a handler: waits for a pass.
    async fn pass(&self) {
        self.0.arrived.fetch_add(1, Ordering::SeqCst);
        self.0.passes.acquire().await.unwrap().forget();
    }

    fn let_through(&self, handlers: usize) {
        self.0.passes.add_permits(handlers);
    }

    fn arrived(&self) -> usize {
        self.0.arrived.load(Ordering::SeqCst)
    }

    async fn arrivals(&self, handlers: usize) {
        eventually(format!("{handlers} handlers are at the gate"), async || {
            let arrived = self.arrived();
            (arrived == handlers).then_some(()).ok_or(arrived)
        })
        .await;
    }
}

/// Emits in a transaction of its own.
async fn emit(pool: &PgPool, event: &impl OutboxEvent) -> EventId {
    let mut tx = pool.begin().await.unwrap();
    let id = outbox::emit(&mut tx, event).await.unwrap();
    tx.commit().await.unwrap();
    id
}

/// The one record of an event.
async fn record(database: &Database, id: EventId) -> OutboxRecord {
    let rows = database.rows().await;
    let mut rows = rows.into_iter().filter(|row| row.event_id == id);
    let row = rows.next().expect("the event has a record");
    assert_eq!(rows.next(), None, "the event has one record");
    row
}

/// Waits until the event's record has a status, and returns it.
async fn record_is(database: &Database, id: EventId, status: Status) -> OutboxRecord {
    eventually(format!("the record is {status}"), async || {
        let row = record(database, id).await;
        if row.status == status {
            Ok(row)
        } else {
            Err(row)
        }
    })
    .await
}

/// Asserts that a record is as it was before it was claimed, only due anew.
fn assert_given_back(row: &OutboxRecord, before: &OutboxRecord) {
    let mut expected = before.clone();
    expected.next_attempt_at = Some(row.updated_at);
    expected.updated_at = row.updated_at;
    assert_eq!(*row, expected);
    assert!(row.updated_at > before.updated_at);
}
