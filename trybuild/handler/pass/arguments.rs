//! Every argument reaches the registration.

use outbox::__private::HandlerSpec;
use outbox::{Context, OutboxEvent, RawEvent, State, sqlx::PgPool};

#[derive(OutboxEvent)]
#[outbox(max_retries = 3)]
struct OrderCreated {
    id: u64,
}

#[outbox::handler]
async fn bare(event: OrderCreated) {
    let _ = event.id;
}

#[outbox::handler()]
async fn r#try(_: OrderCreated) {}

#[outbox::handler(
    event = "order.created",
    max_retries = 5,
    backoff = "fixed",
    initial_delay = "250ms",
    max_delay = "1h",
    timeout = "30s",
    name = "send.confirmation",
    alias = "send_confirmation",
    crate = "outbox"
)]
async fn full(_event: OrderCreated) -> anyhow::Result<()> {
    Ok(())
}

#[outbox::handler(
    alias = ["a", "b"],
    max_retries = 2_147_483_647,
    initial_delay = 0,
    max_delay = 2147483647,
    timeout = 1,
    backoff = "exponential"
)]
async fn bounds(_event: OrderCreated) {}

#[outbox::handler(event = "order.*")]
async fn by_prefix(_event: RawEvent, _context: Context) {}

#[outbox::handler(event = "*", timeout = "5m")]
async fn everything(_event: RawEvent, _pool: PgPool, _state: State<u8>, _other: State<String>) {}

#[outbox::handler(initial_delay = 10, max_delay = 5, backoff = "fixed")]
async fn a_fixed_delay_has_no_maximum(_event: OrderCreated) {}

#[outbox::handler(initial_delay = 5, max_delay = 5)]
async fn equal_delays(_event: OrderCreated) {}

/// What the help lines of refused arguments say.
#[outbox::handler(
    initial_delay = "1500ms",
    max_delay = "24h",
    timeout = "10s",
    name = "send",
    crate = "outbox"
)]
async fn mended(_event: OrderCreated) {}

#[outbox::handler(initial_delay = "1m", max_delay = 60000)]
async fn mended_delays(_event: OrderCreated) {}

fn find(name: &str) -> &'static HandlerSpec {
    let mut specs = outbox::__private::inventory::iter::<HandlerSpec>.into_iter();
    specs.find(|spec| spec.name == name).expect("registered")
}

fn main() {
    let bare = find("bare");
    assert_eq!(bare.patterns, ["order.created"]);
    assert_eq!(bare.event_max_retries, Some(3));
    assert_eq!(bare.max_retries, None);
    assert!(bare.aliases.is_empty() && bare.backoff.is_none() && bare.timeout_ms.is_none());
    assert!(bare.place.file.ends_with("arguments.rs"));
    assert_eq!(bare.place.line, 12);
    find("try");

    let full = find("send.confirmation");
    assert_eq!(full.patterns, ["order.created"]);
    assert_eq!(full.aliases, ["send_confirmation"]);
    assert_eq!(full.max_retries, Some(5));
    assert_eq!(full.backoff, Some(outbox::Backoff::Fixed));
    assert_eq!(full.initial_delay_ms, Some(250));
    assert_eq!(full.max_delay_ms, Some(3_600_000));
    assert_eq!(full.timeout_ms, Some(30_000));

    let bounds = find("bounds");
    assert_eq!(bounds.aliases, ["a", "b"]);
    assert_eq!(bounds.max_retries, Some(i32::MAX));
    assert_eq!(bounds.backoff, Some(outbox::Backoff::Exponential));
    assert_eq!(bounds.initial_delay_ms, Some(0));
    assert_eq!(bounds.max_delay_ms, Some(2_147_483_647));
    assert_eq!(bounds.timeout_ms, Some(1));

    assert_eq!(find("by_prefix").patterns, ["order.*"]);
    let everything = find("everything");
    assert_eq!(everything.patterns, ["*"]);
    assert_eq!(everything.timeout_ms, Some(300_000));
    assert_eq!(find("send").initial_delay_ms, Some(1_500));
    assert_eq!(find("send").max_delay_ms, Some(86_400_000));
    assert_eq!(find("mended_delays").initial_delay_ms, Some(60_000));
    let mut needs = Vec::new();
    (everything.needs)(&mut needs);
    assert_eq!(needs.len(), 2);
}
