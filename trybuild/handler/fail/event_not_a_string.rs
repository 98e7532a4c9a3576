#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = OrderCreated)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
