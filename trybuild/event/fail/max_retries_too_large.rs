#[derive(outbox::OutboxEvent)]
#[outbox(max_retries = 2147483648)]
struct OrderCreated;

fn main() {}
