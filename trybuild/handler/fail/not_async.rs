#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
fn ship_order(_: OrderCreated) {}

fn main() {}
