#[derive(outbox::OutboxEvent)]
struct __;

fn main() {}
