#[derive(outbox::OutboxEvent)]
#[outbox(serde = "mine")]
struct OrderCreated;

fn main() {}
