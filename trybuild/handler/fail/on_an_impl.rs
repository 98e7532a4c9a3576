#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
impl OrderCreated {}

fn main() {}
