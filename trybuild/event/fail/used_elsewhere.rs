#[derive(outbox::OutboxEvent)]
#[outbox(max_retries = 0)]
struct OrderCreated;

fn encode() -> Option<String> {
    OrderCreated.to_json().ok()
}

use outbox::OutboxEvent as _;

fn main() {}
