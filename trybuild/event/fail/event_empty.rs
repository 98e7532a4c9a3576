#[derive(outbox::OutboxEvent)]
#[outbox(event = "")]
struct OrderCreated;

fn main() {}
