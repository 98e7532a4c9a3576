#[derive(outbox::OutboxEvent)]
#[outbox(crate = "::")]
struct OrderCreated;

fn main() {}
