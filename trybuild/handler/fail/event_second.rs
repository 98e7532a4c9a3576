#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order(_: outbox::Context, _: OrderCreated) {}

fn main() {}
