#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order(_: OrderCreated, ...) {}

fn main() {}
