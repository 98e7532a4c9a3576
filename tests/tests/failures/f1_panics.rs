//! F1: a panic anywhere in a handler is a failed attempt, and frees its slot.

use std::fmt;
use std::panic::panic_any;
use std::sync::Arc;

use outbox::{OutboxEvent, RawEvent, State, Status};
use outbox_tests::Database;
use tokio::sync::Barrier;

/// Panics when it is dropped.
#[derive(Debug)]
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped in {}", self.0);
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error that panics when it is dropped")
    }
}

impl std::error::Error for Bomb {}

/// Its text panics.
#[derive(Debug)]
struct Mute;

impl fmt::Display for Mute {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no text")
    }
}

impl std::error::Error for Mute {}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
enum Where {
    BeforeTheFirstAwait,
    AfterIt,
    InDrop,
    InDropAfterAnError,
    InDropOfTheError,
    InDisplay,
    WithANumber,
    WithABomb,
    InATask,
    Nowhere,
}

#[derive(OutboxEvent)]
#[outbox(event = "f1.asked", max_retries = 2)]
struct Asked(Where);

#[outbox::handler(event = "f1.asked", name = "f1")]
async fn asked(event: Asked) -> anyhow::Result<()> {
    match event.0 {
        Where::BeforeTheFirstAwait => panic!("before"),
        Where::AfterIt => {
            tokio::task::yield_now().await;
            let why = "after";
            panic!("{why} the await");
        }
        Where::InDrop => {
            let _bomb = Bomb("the handler");
            tokio::task::yield_now().await;
            Ok(())
        }
        Where::InDropAfterAnError => {
            let _bomb = Bomb("the handler");
            anyhow::bail!("no")
        }
        Where::InDropOfTheError => Err(Bomb("the error").into()),
        Where::InDisplay => Err(Mute.into()),
        Where::WithANumber => panic_any(7),
        Where::WithABomb => panic_any(Bomb("the panic")),
        Where::InATask => Ok(tokio::spawn(async { panic!("elsewhere") }).await?),
        Where::Nowhere => Ok(()),
    }
}

#[tokio::test]
async fn f1_each_is_counted_and_leaves_its_slot() {
    let database = Database::new().await;
    // One slot: what keeps it keeps all others from running.
    let outbox = outbox::start(database.pool())
        .only(["f1"])
        .concurrency(1)
        .retry(crate::at_once())
        .await
        .unwrap();
    let no_text = "the handler panicked with a value that is no text";
    for (place, text) in [
        (Where::BeforeTheFirstAwait, "the handler panicked: before"),
        (Where::AfterIt, "the handler panicked: after the await"),
        (
            Where::InDrop,
            "the handler panicked: dropped in the handler",
        ),
        (
            Where::InDropAfterAnError,
            "the handler panicked: dropped in the handler",
        ),
        (
            Where::InDropOfTheError,
            "an error that panics when it is dropped",
        ),
        (
            Where::InDisplay,
            "an error whose text can't be had, as its `Display` panics",
        ),
        (Where::WithANumber, no_text),
        (Where::WithABomb, no_text),
    ] {
        let emitted = database.emit(&Asked(place)).await;
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!(row, crate::failed(&emitted, text, &row));

        let emitted = database.emit(&Asked(Where::Nowhere)).await;
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!(row, crate::sent(&emitted, &row));
    }
    let emitted = database.emit(&Asked(Where::InATask)).await;
    let row = database.row_when_ended(emitted.id).await;
    let text = row.last_error.clone().unwrap();
    assert!(
        text.contains("panicked with message \"elsewhere\""),
        "{text}"
    );
    assert_eq!(row, crate::failed(&emitted, &text, &row));
    outbox.shutdown().await.unwrap();
}

/// Reading it panics.
#[derive(Debug)]
struct Unreadable;

impl serde::Serialize for Unreadable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> serde::Deserialize<'de> for Unreadable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("no reading")
    }
}

#[derive(OutboxEvent)]
#[outbox(event = "f1.unreadable", max_retries = 2)]
struct Unread {
    #[allow(dead_code)]
    part: Unreadable,
}

#[outbox::handler(event = "f1.unreadable", name = "f1_unreadable")]
async fn unread(_: Unread) {}

/// Cloning it for an attempt panics.
struct Single;

impl Clone for Single {
    fn clone(&self) -> Self {
        panic!("no clone")
    }
}

#[outbox::handler(event = "f1.unshared", name = "f1_unshared", max_retries = 2)]
async fn unshared(_: RawEvent, _: State<Single>) {}

#[tokio::test]
async fn f1_reading_the_parameters_may_panic() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["f1_unreadable", "f1_unshared"])
        .concurrency(1)
        .retry(crate::at_once())
        .state(Single)
        .await
        .unwrap();
    let emitted = database.emit(&Unread { part: Unreadable }).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(
        row,
        crate::failed(&emitted, "the handler panicked: no reading", &row)
    );
    let event = RawEvent::from_text("f1.unshared", "{}");
    let emitted = database.emit(&event).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(
        row,
        crate::failed(&emitted, "the handler panicked: no clone", &row)
    );
    outbox.shutdown().await.unwrap();
}

#[derive(OutboxEvent)]
#[outbox(event = "f1.together", max_retries = 3)]
struct Together {
    panics: bool,
}

/// Panics when as many run as there are slots.
#[outbox::handler(event = "f1.together", name = "f1_together")]
async fn together(event: Together, State(all): State<Arc<Barrier>>) {
    if event.panics {
        all.wait().await;
        panic!("all at once");
    }
}

async fn all_slots_panic_at_once() {
    let database = Database::new().await;
    let slots = 8;
    let outbox = outbox::start(database.pool())
        .only(["f1_together"])
        .concurrency(slots)
        .retry(crate::at_once())
        .state(Arc::new(Barrier::new(slots)))
        .await
        .unwrap();
    let mut tx = database.pool().begin().await.unwrap();
    let events: Vec<Together> = (0..slots).map(|_| Together { panics: true }).collect();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drained().await.unwrap();
    for row in database.rows().await {
        let state = (row.status, row.retry_count, row.last_error.as_deref());
        let error = Some("the handler panicked: all at once");
        assert_eq!(state, (Status::Failed, 3, error));
    }
    // Slots and poller are there.
    let emitted = database.emit(&Together { panics: false }).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(row, crate::sent(&emitted, &row));
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn f1_all_slots_at_once() {
    all_slots_panic_at_once().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f1_all_slots_at_once_on_several_threads() {
    all_slots_panic_at_once().await;
}
