#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(crate = "out-box")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
