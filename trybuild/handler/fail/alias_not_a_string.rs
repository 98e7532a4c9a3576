#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(alias = [former])]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
