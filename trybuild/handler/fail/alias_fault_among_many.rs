#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(alias = ["a", "", "b "])]
async fn ship_order(_: OrderCreated) {}

fn main() {}
