//! What a handler may return.

use std::error::Error;

use outbox::{OutboxEvent, RawEvent};
use outbox_tests::Database;

fn refused(event: &RawEvent) -> Result<(), String> {
    if event.json() == "true" {
        return Ok(());
    }
    Err("no".to_owned())
}

#[outbox::handler(event = "results.nothing", name = "results_nothing", max_retries = 1)]
async fn nothing(event: RawEvent) {
    refused(&event).unwrap();
}

#[outbox::handler(event = "results.anyhow", name = "results_anyhow", max_retries = 1)]
async fn anyhow(event: RawEvent) -> anyhow::Result<()> {
    refused(&event).map_err(anyhow::Error::msg)
}

#[outbox::handler(event = "results.string", name = "results_string", max_retries = 1)]
async fn string(event: RawEvent) -> Result<(), String> {
    refused(&event)
}

#[outbox::handler(event = "results.str", name = "results_str", max_retries = 1)]
async fn str(event: RawEvent) -> Result<(), &'static str> {
    refused(&event).map_err(|_| "no")
}

#[outbox::handler(event = "results.boxed", name = "results_boxed", max_retries = 1)]
async fn boxed(event: RawEvent) -> Result<(), Box<dyn Error + Send + Sync>> {
    refused(&event)?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Plain(String),
}

#[outbox::handler(event = "results.own", name = "results_own", max_retries = 1)]
async fn own(event: RawEvent) -> Result<(), Refusal> {
    refused(&event).map_err(Refusal::Plain)
}

type Alias = std::result::Result<(), Refusal>;

#[outbox::handler(event = "results.alias", name = "results_alias", max_retries = 1)]
async fn alias(event: RawEvent) -> Alias {
    own(event).await
}

#[derive(OutboxEvent)]
#[outbox(event = "results.questioned", max_retries = 1)]
struct Questioned(bool);

/// `?` on errors of several types.
#[outbox::handler(event = "results.questioned", name = "results_questioned")]
async fn questioned(event: Questioned) -> anyhow::Result<()> {
    let number: u8 = if event.0 { "7" } else { "x" }.parse()?;
    std::str::from_utf8(&[number])?;
    Ok(())
}

#[tokio::test]
async fn every_kind_of_result_is_settled() {
    let database = Database::new().await;
    let kinds = [
        "nothing", "anyhow", "string", "str", "boxed", "own", "alias",
    ];
    let outbox = outbox::start(database.pool())
        .only(kinds.map(|kind| format!("results_{kind}")))
        .await
        .unwrap();
    for kind in kinds {
        let event = |json| RawEvent::from_text(format!("results.{kind}"), json);
        let emitted = database.emit(&event("true")).await;
        let row = database.row_when_ended(emitted.id).await;
        assert_eq!(row, crate::sent(&emitted, &row));

        let emitted = database.emit(&event("false")).await;
        let row = database.row_when_ended(emitted.id).await;
        let text = if kind == "nothing" {
            "the handler panicked: called `Result::unwrap()` on an `Err` value: \"no\""
        } else {
            "no"
        };
        assert_eq!(row, crate::failed(&emitted, text, &row));
    }
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_question_mark_takes_any_error() {
    let database = Database::new().await;
    let outbox = outbox::start(database.pool())
        .only(["results_questioned"])
        .await
        .unwrap();
    let emitted = database.emit(&Questioned(true)).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(row, crate::sent(&emitted, &row));
    let emitted = database.emit(&Questioned(false)).await;
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(
        row,
        crate::failed(&emitted, "invalid digit found in string", &row)
    );
    outbox.shutdown().await.unwrap();
}
