struct Line;

#[derive(outbox::OutboxEvent)]
struct OrderCreated {
    line: Line,
}

fn main() {}
