#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(initial_delay = "1 fortnight")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
