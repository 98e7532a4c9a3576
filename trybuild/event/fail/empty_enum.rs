#[derive(outbox::OutboxEvent)]
enum Never {}

fn main() {}
