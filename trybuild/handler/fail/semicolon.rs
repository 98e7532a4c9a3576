#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order.created"; max_retries = 5)]
async fn ship_order(_: OrderCreated) {}

fn main() {}
