#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(alias = "send_confirmation")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
