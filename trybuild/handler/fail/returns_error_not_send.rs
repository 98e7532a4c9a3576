#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order(_: OrderCreated) -> Result<(), Box<dyn std::error::Error>> {
    Ok(())
}

fn main() {}
