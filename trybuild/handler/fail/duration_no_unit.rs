#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "10")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
