#[derive(outbox::OutboxEvent)]
struct Changed<'a> {
    name: &'a str,
}

fn main() {}
