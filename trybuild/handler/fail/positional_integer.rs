#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(5)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
