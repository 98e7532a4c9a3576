#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(timeout = "0s")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
