#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler("order.created")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
