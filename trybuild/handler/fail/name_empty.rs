#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(name = "")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
