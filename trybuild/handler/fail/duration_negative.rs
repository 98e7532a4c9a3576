#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "-1s")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
