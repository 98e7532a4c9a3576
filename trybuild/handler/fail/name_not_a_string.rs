#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(name = send)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
