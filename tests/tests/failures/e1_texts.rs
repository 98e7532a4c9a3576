//! E1: error texts that no column would take as they are.

use std::fmt;

use outbox::chrono::TimeDelta;
use outbox::{OutboxEvent, OutboxRecord, Status};
use outbox_tests::Database;

/// What is kept of a text.
const KEPT: usize = 16 * 1024;

#[derive(OutboxEvent)]
#[outbox(event = "e1_texts.asked", max_retries = 2)]
enum Asked {
    Nul,
    Megabytes,
    Wide,
    Endless,
    Panics,
    Refuses,
    Empty,
    NulSource,
}

#[derive(Debug)]
struct Unspeakable(fmt::Result);

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0.is_err(), "no text");
        self.0
    }
}

impl std::error::Error for Unspeakable {}

#[derive(Debug)]
struct Endless;

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        loop {
            f.write_str("🦀 and ")?;
        }
    }
}

impl std::error::Error for Endless {}

fn nul() -> String {
    "a\0b\0".to_owned()
}

fn megabytes() -> String {
    "x".repeat(5_000_000)
}

/// Characters of four bytes behind one of one byte, so that every cut at a round number halves one.
fn wide() -> String {
    format!("x{}", "🦀".repeat(1_250_000))
}

#[outbox::handler(event = "e1_texts.asked", name = "e1_texts")]
async fn asked(event: Asked) -> anyhow::Result<()> {
    Err(match event {
        Asked::Nul => anyhow::Error::msg(nul()),
        Asked::Megabytes => anyhow::Error::msg(megabytes()),
        Asked::Wide => anyhow::Error::msg(wide()),
        Asked::Endless => Endless.into(),
        Asked::Panics => Unspeakable(Ok(())).into(),
        Asked::Refuses => Unspeakable(Err(fmt::Error)).into(),
        Asked::Empty => anyhow::Error::msg(String::new()),
        Asked::NulSource => anyhow::Error::msg(nul()).context("mail\0"),
    })
}

#[tokio::test]
async fn e1_every_text_is_stored_and_the_attempt_counted() {
    let no_text = "an error whose text can't be had, as its `Display` panics";
    let wide = wide();
    let cases = [
        (Asked::Nul, "a\u{fffd}b\u{fffd}".to_owned()),
        (Asked::Megabytes, megabytes()[..KEPT].to_owned()),
        (Asked::Wide, wide[..KEPT - 3].to_owned()),
        // 1,820 times 9 bytes, and the 4 that are left hold the animal.
        (
            Asked::Endless,
            "🦀 and ".repeat(KEPT / 9 + 1)[..KEPT].to_owned(),
        ),
        (Asked::Panics, no_text.to_owned()),
        (Asked::Refuses, no_text.to_owned()),
        (Asked::Empty, String::new()),
        (
            Asked::NulSource,
            "mail\u{fffd}: a\u{fffd}b\u{fffd}".to_owned(),
        ),
    ];
    let database = Database::new().await;
    database.keep_history().await;
    // All in one slot: each must leave it.
    let outbox = outbox::start(database.pool())
        .only(["e1_texts"])
        .concurrency(1)
        .await
        .unwrap();
    for (event, text) in cases {
        let emitted = database.emit(&event).await;
        let row = database.row_when_hurried(emitted.id).await;
        assert_eq!(row, crate::failed(&emitted, &text, &row));

        let history = database.history(emitted.id).await;
        let at = history[2].updated_at;
        let put_off = OutboxRecord {
            status: Status::Pending,
            retry_count: 1,
            last_error: Some(text),
            next_attempt_at: Some(at + TimeDelta::seconds(1)),
            updated_at: at,
            ..emitted
        };
        assert_eq!(history[2], put_off);
    }
    outbox.shutdown().await.unwrap();
}

/// Many at once: one statement settles them, and none spoils it for the others.
#[tokio::test]
async fn e1_a_batch_of_bad_texts_is_settled_whole() {
    let database = Database::new().await;
    let events: Vec<Asked> = (0..60)
        .map(|n| match n % 3 {
            0 => Asked::Nul,
            1 => Asked::Panics,
            _ => Asked::NulSource,
        })
        .collect();
    let mut tx = database.pool().begin().await.unwrap();
    outbox::emit_many(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    let outbox = outbox::start(database.pool())
        .only(["e1_texts"])
        .retry(crate::at_once())
        .await
        .unwrap();
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();
    let rows = database.rows().await;
    assert_eq!(rows.len(), 60);
    for row in rows {
        assert_eq!(
            (row.status, row.retry_count),
            (Status::Failed, 2),
            "{row:?}"
        );
    }
}
