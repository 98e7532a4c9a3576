#[derive(outbox::OutboxEvent)]
#[outbox(serde = "own")]
struct OrderCreated;

fn main() {}
