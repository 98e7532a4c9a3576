#[derive(outbox::OutboxEvent)]
struct OrderCreated;

struct Fault;

#[outbox::handler]
async fn ship_order(_: OrderCreated) -> Result<(), Fault> {
    Err(Fault)
}

fn main() {}
