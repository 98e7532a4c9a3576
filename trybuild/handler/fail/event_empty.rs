#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
