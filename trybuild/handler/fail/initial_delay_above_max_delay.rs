#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_delay = "1s", initial_delay = "1m")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
