#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(crate = "ob")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
