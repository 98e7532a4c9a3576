struct OrderPaid;

#[outbox::handler]
async fn ship_order(_: OrderPaid) {}

fn main() {}
