#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = " order.created")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
