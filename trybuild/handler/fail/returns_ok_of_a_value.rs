#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order(_: OrderCreated) -> Result<u64, String> {
    Ok(1)
}

fn main() {}
