#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order<'a>(_: OrderCreated, _: &'a str) {}

fn main() {}
