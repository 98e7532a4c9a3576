#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(alias = [])]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
