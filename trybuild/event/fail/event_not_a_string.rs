#[derive(outbox::OutboxEvent)]
#[outbox(event = 5)]
struct OrderCreated;

fn main() {}
