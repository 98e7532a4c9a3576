#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "99999999999d")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
