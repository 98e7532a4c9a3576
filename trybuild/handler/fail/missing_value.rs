#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
