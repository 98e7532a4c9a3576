#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = , max_retries = 5)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
