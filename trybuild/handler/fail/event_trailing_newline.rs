#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order.created\n")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
