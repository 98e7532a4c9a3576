#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async extern "C" fn ship_order(_: OrderCreated) {}

fn main() {}
