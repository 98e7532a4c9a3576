#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order.*")]
async fn ship_order(_: OrderCreated) {}

fn main() {}
