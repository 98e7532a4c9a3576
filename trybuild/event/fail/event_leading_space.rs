#[derive(outbox::OutboxEvent)]
#[outbox(event = "\u{a0}order")]
struct OrderCreated;

fn main() {}
