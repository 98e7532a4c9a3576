#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order.created" max_retries = 5)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
