//! Handlers that don't come to their end in time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use outbox::{OutboxEvent, State, Status};
use outbox_tests::{Database, Logged, eventually};

use crate::{Gate, assert_given_back, emit, record, record_is};

#[derive(OutboxEvent)]
#[outbox(event = "beyond.happened")]
struct Happened {}

/// Set when the handler's future is dropped before its end.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicBool>);

struct Note(Dropped);

impl Drop for Note {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

#[outbox::handler(name = "beyond")]
async fn wait(_event: Happened, gate: State<Gate>, dropped: State<Dropped>) {
    let note = Note(dropped.0);
    gate.pass().await;
    std::mem::forget(note);
}

#[derive(OutboxEvent)]
#[outbox(event = "beyond.blocked")]
struct Blocked {}

#[derive(Clone)]
struct Block {
    begun: Arc<AtomicBool>,
    end: Arc<Mutex<mpsc::Receiver<()>>>,
    ended: Arc<AtomicBool>,
}

/// Blocks its thread: it can't be dropped.
#[outbox::handler(name = "beyond_blocked")]
async fn block(_event: Blocked, block: State<Block>) {
    block.begun.store(true, Ordering::SeqCst);
    block.end.lock().unwrap().recv().unwrap();
    block.ended.store(true, Ordering::SeqCst);
}

#[derive(OutboxEvent)]
#[outbox(event = "beyond.beside")]
struct Beside {}

#[outbox::handler(name = "beyond_beside")]
async fn beside(_event: Beside) {}

#[tokio::test]
async fn they_are_dropped_named_and_given_back_as_if_never_claimed() {
    let logged = Logged::here();
    let database = Database::new().await;
    let pool = database.pool();
    let (gate, dropped) = (Gate::closed(), Dropped::default());
    let ids = [
        emit(&pool, &Happened {}).await,
        emit(&pool, &Happened {}).await,
    ];
    let before = [
        record(&database, ids[0]).await,
        record(&database, ids[1]).await,
    ];
    let outbox = outbox::start(pool.clone())
        .only(["beyond"])
        .shutdown_timeout(Duration::from_millis(50))
        .state(gate.clone())
        .state(dropped.clone())
        .await
        .unwrap();
    gate.arrivals(2).await;

    outbox.shutdown().await.unwrap();
    assert!(dropped.0.load(Ordering::SeqCst));
    for (id, before) in ids.into_iter().zip(before) {
        assert_given_back(&record(&database, id).await, &before);
    }
    assert_eq!(
        logged.with("beyond `shutdown_timeout`"),
        [
            "WARN outbox: 2 handlers ran beyond `shutdown_timeout` and are dropped handlers=beyond, beyond"
        ]
    );
    drop(gate);
}

#[tokio::test]
async fn another_node_is_woken_and_goes_on_at_once() {
    let database = Database::new().await;
    let pool = database.pool();
    let (here, there) = (Gate::closed(), Gate::closed());
    // Neither an interval nor a lease of theirs ends within the test.
    let start = |gate: &Gate| {
        outbox::start(pool.clone())
            .only(["beyond"])
            .poll_interval(Duration::from_hours(1))
            .lease(outbox::Lease::default().duration(Duration::from_hours(1)))
            .shutdown_timeout(Duration::ZERO)
            .state(gate.clone())
            .state(Dropped::default())
    };
    let outbox = start(&here).await.unwrap();
    let id = emit(&pool, &Happened {}).await;
    here.arrivals(1).await;
    let other = start(&there).await.unwrap();
    there.let_through(1);

    outbox.shutdown().await.unwrap();
    let row = record_is(&database, id, Status::Sent).await;
    assert_eq!((row.retry_count, row.recovery_count), (0, 0));
    assert_eq!((here.arrived(), there.arrived()), (1, 1));
    other.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_blocks_its_thread_neither_hangs_shutdown_nor_settles_later() {
    let database = Database::new().await;
    let pool = database.pool();
    let (end, ended) = mpsc::channel();
    let block = Block {
        begun: Arc::default(),
        end: Arc::new(Mutex::new(ended)),
        ended: Arc::default(),
    };
    let id = emit(&pool, &Blocked {}).await;
    let before = record(&database, id).await;
    let outbox = outbox::start(pool.clone())
        .only(["beyond_blocked"])
        .shutdown_timeout(Duration::from_millis(50))
        .cancel_grace(Duration::from_millis(50))
        .state(block.clone())
        .await
        .unwrap();
    eventually("the handler has begun", async || {
        block.begun.load(Ordering::SeqCst)
    })
    .await;

    outbox.shutdown().await.unwrap();
    let given_back = record(&database, id).await;
    assert_given_back(&given_back, &before);
    assert!(!block.ended.load(Ordering::SeqCst));

    end.send(()).unwrap();
    eventually("the handler has ended", async || {
        block.ended.load(Ordering::SeqCst)
    })
    .await;
    // A settle would come before another runtime's start, claim and settle are through.
    let other = outbox::start(pool.clone())
        .only(["beyond_beside"])
        .await
        .unwrap();
    record_is(&database, emit(&pool, &Beside {}).await, Status::Sent).await;
    assert_eq!(record(&database, id).await, given_back);
    other.shutdown().await.unwrap();
}
