#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_delay = 2147483648)]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
