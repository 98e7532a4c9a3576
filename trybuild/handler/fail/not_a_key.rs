#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(= 5, event = "order.created")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
