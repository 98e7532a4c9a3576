#![deny(unused_variables)]

#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order(event: OrderCreated) {
    let unused = 1;
}

fn main() {}
