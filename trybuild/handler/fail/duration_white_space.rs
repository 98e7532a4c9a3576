#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "1 h")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
