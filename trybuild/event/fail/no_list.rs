#[derive(outbox::OutboxEvent)]
#[outbox = "order.created"]
struct OrderCreated;

fn main() {}
