#[derive(outbox::OutboxEvent)]
#[outbox(max_retries = 0)]
struct OrderCreated;

fn main() {}
