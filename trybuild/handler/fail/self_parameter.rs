#[derive(outbox::OutboxEvent)]
struct OrderCreated;

struct Shop;

impl Shop {
    #[outbox::handler]
    async fn ship_order(&self, _: OrderCreated) {}
}

fn main() {}
