//! What a failed attempt says in the log, and what it keeps to itself.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox::serde_json::json;
use outbox::{OutboxEvent, OutboxRecord, RawEvent, Retry};
use outbox_tests::Database;
use tracing::Level;

use crate::captured::{Captured, Line};

/// Stands in payloads, headers and error texts, and must not stand above debug.
const SECRET: &str = "4111-1111";

#[derive(OutboxEvent)]
#[outbox(event = "logs.paid")]
struct Paid {
    card: String,
    how: String,
}

#[derive(Debug, thiserror::Error)]
#[error("card {0} was refused")]
struct Refused(String);

#[outbox::handler(
    event = "logs.paid",
    name = "logs_paid",
    max_retries = 2,
    timeout = "20ms"
)]
async fn paid(event: Paid) -> Result<(), Refused> {
    match &*event.how {
        "panics" => panic!("card {}", event.card),
        "hangs" => std::future::pending().await,
        "succeeds" => Ok(()),
        _ => Err(Refused(event.card)),
    }
}

async fn log_of(event: &RawEvent, errors: bool) -> (OutboxRecord, Vec<Line>) {
    let database = Database::new().await;
    let captured = Captured::begin();
    let outbox = outbox::start(database.pool())
        .only(["logs_paid"])
        .retry(Retry::default().initial_delay(Duration::from_millis(1)))
        .log_errors(errors)
        .await
        .unwrap();
    let emitted = database
        .emit_with(event, |emit| emit.header("card", SECRET).tenant("acme"))
        .await;
    let row = database.row_when_ended(emitted.id).await;
    outbox.shutdown().await.unwrap();
    (row, captured.lines())
}

fn event(how: &str) -> RawEvent {
    RawEvent::new("logs.paid", &json!({ "card": SECRET, "how": how }))
}

/// The warnings, without the shutdown's and start's lines.
fn warnings(lines: &[Line]) -> Vec<BTreeMap<&'static str, String>> {
    let warnings = lines.iter().filter(|line| line.level == Level::WARN);
    warnings.map(|line| line.fields.clone()).collect()
}

fn fields(pairs: &[(&'static str, &str)]) -> BTreeMap<&'static str, String> {
    pairs
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect()
}

/// Nothing above debug has it.
fn assert_secret_is_kept(lines: &[Line]) {
    for line in lines.iter().filter(|line| line.level <= Level::INFO) {
        assert!(!line.text().contains(SECRET), "{line:?}");
    }
}

async fn warns(how: &str, error_type: &str) {
    let (row, lines) = log_of(&event(how), false).await;
    let id = row.id.to_string();
    let common = [
        ("handler", "logs_paid"),
        ("record_id", &*id),
        ("max_retries", "2"),
        ("error_type", error_type),
    ];
    let first = [
        ("message", "outbox: attempt 1 of 2 failed"),
        ("attempt", "1"),
        ("next_delay_ms", "1"),
    ];
    let second = [
        (
            "message",
            "outbox: attempt 2 of 2 failed, the record is FAILED",
        ),
        ("attempt", "2"),
    ];
    assert_eq!(
        warnings(&lines),
        [
            fields(&[&common[..], &first].concat()),
            fields(&[&common[..], &second].concat()),
        ]
    );
    assert_secret_is_kept(&lines);
    // The text is in the table, and at debug.
    let text = row.last_error.unwrap();
    let debug = lines.iter().filter(|line| line.level == Level::DEBUG);
    let told = debug.filter(|line| line.fields.get("error") == Some(&text));
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn an_error_is_a_warning_without_its_text() {
    warns("fails", "failures::logs::Refused").await;
}

#[tokio::test]
async fn so_is_a_panic() {
    warns("panics", "panic").await;
}

#[tokio::test]
async fn so_is_a_timeout() {
    warns("hangs", "timeout").await;
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_not_quoted() {
    let event = RawEvent::new("logs.paid", &json!({ "card": [SECRET], "how": SECRET }));
    let (row, lines) = log_of(&event, false).await;
    assert!(row.last_error.unwrap().contains("at `card`"));
    let types: Vec<String> = warnings(&lines)
        .into_iter()
        .filter_map(|mut f| f.remove("error_type"))
        .collect();
    assert_eq!(types, ["outbox::decode::DecodeError"; 2]);
    assert_secret_is_kept(&lines);
}

#[tokio::test]
async fn log_errors_adds_the_text() {
    let (row, lines) = log_of(&event("fails"), true).await;
    let text = format!("card {SECRET} was refused");
    assert_eq!(row.last_error.as_ref(), Some(&text));
    let warned: Vec<Option<String>> = warnings(&lines)
        .into_iter()
        .map(|mut f| f.remove("error"))
        .collect();
    assert_eq!(warned, [Some(text.clone()), Some(text)]);
}

#[tokio::test]
async fn a_success_warns_of_nothing_and_tells_nothing() {
    let (_, lines) = log_of(&event("succeeds"), true).await;
    assert_eq!(warnings(&lines), []);
    assert_secret_is_kept(&lines);
    assert!(
        lines.iter().any(|line| line.target.starts_with("outbox")),
        "{lines:?}"
    );
}
