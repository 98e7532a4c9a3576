#[derive(outbox::OutboxEvent)]
#[outbox(event = "order.created")]
#[outbox(event = "order.paid")]
struct OrderCreated;

fn main() {}
