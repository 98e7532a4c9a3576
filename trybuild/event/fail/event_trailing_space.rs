#[derive(outbox::OutboxEvent)]
#[outbox(event = "order ")]
struct OrderCreated;

fn main() {}
