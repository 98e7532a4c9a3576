#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
pub(crate) trait Shop {}

fn main() {}
