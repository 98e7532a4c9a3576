#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(backoff = "fixd")]
async fn send_confirmation(_: OrderCreated) {}

fn main() {}
