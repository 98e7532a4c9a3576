#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries = -1)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
