#[derive(outbox::OutboxEvent)]
struct OrderCreated {
    #[outbox(event = "order.created")]
    id: u64,
}

fn main() {}
