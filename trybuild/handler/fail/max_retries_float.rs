#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries = 1e3)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
