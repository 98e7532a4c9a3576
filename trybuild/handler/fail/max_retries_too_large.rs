#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries = 4294967296)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
