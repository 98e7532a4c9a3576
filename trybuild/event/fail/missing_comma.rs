#[derive(outbox::OutboxEvent)]
#[outbox(event = "order.created" max_retries = 5)]
struct OrderCreated;

fn main() {}
