#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order\u{0}created")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
