#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "1d")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
