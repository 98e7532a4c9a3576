#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(alias = ["a\tb"])]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
