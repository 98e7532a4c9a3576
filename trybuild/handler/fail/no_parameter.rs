#[outbox::handler(event = "order.created")]
async fn ship_order() {}

fn main() {}
