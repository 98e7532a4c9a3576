#[derive(outbox::OutboxEvent)]
struct Changed<T> {
    from: T,
    to: T,
}

fn main() {}
