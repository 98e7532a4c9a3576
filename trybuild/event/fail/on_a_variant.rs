#[derive(outbox::OutboxEvent)]
enum Order {
    #[outbox(event = "order.created")]
    Created,
}

fn main() {}
