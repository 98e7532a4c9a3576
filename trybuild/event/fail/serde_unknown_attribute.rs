#[derive(outbox::OutboxEvent)]
#[serde(renam_all = "camelCase")]
struct OrderCreated {
    order_id: u64,
}

fn main() {}
