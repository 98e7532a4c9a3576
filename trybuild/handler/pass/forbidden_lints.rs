//! Lints that a crate forbids to allow: generated code allows nothing that it need not. (serde's own
//! derive allows `unused_qualifications`.)

#![forbid(
    unsafe_code,
    deprecated,
    unused_imports,
    unused_variables,
    dead_code,
    missing_docs,
    unreachable_pub,
    non_snake_case,
    unit_bindings,
    unused_results
)]

use outbox::OutboxEvent;

#[derive(OutboxEvent)]
struct Unit;

#[derive(OutboxEvent)]
struct OrderCreated {
    id: u64,
    lines: Vec<String>,
}

#[derive(OutboxEvent)]
enum OrderChanged {
    Paid,
    Sent(u64),
    Lost { at: u64 },
}

#[outbox::handler]
async fn with_unit(_: Unit) {}

#[outbox::handler(event = "order.created")]
async fn created(event: OrderCreated, _: outbox::Context) -> Result<(), String> {
    let _ = (event.id, event.lines);
    Ok(())
}

#[outbox::handler]
async fn changed(event: OrderChanged) {
    let _ = event;
}

fn main() {
    for event in [
        OrderChanged::Paid,
        OrderChanged::Sent(1),
        OrderChanged::Lost { at: 1 },
    ] {
        assert!(event.to_json().is_ok());
    }
}
