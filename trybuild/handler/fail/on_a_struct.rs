#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
struct Shop;

fn main() {}
