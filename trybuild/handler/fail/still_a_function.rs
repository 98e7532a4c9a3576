#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(max_retries = 0)]
async fn ship_order(_: OrderCreated) {}

async fn elsewhere() {
    ship_order(OrderCreated).await;
}

fn main() {}
