#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
const SHOP: u8 = 1;

fn main() {}
