#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(event = "order*")]
async fn send_confirmation(_: outbox::RawEvent) {}

fn main() {}
