#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
