#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(timeout = true)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
