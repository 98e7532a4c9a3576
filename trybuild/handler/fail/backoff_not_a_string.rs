#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(backoff = fixed)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
