#[derive(outbox::OutboxEvent)]
struct OrderCreated;

use std::rc::Rc;

#[outbox::handler]
async fn ship_order(_: OrderCreated) {
    let shared = Rc::new(1);
    tokio::task::yield_now().await;
    drop(shared);
}

fn main() {}
