#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
const fn ship_order(_: OrderCreated) {}

fn main() {}
