#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries = 0)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
