#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async unsafe fn ship_order(_: OrderCreated) {}

fn main() {}
