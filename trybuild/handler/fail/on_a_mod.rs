#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
mod shop {}

fn main() {}
