#[derive(outbox::OutboxEvent)]
#[outbox(event = "a\nb")]
struct OrderCreated;

fn main() {}
