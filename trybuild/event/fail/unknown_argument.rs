#[derive(outbox::OutboxEvent)]
#[outbox(evnt = "order.created")]
struct OrderCreated;

fn main() {}
