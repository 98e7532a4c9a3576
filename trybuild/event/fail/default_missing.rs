#[derive(outbox::OutboxEvent)]
#[serde(default)]
struct OrderCreated {
    id: u64,
}

fn main() {}
