#[derive(outbox::OutboxEvent)]
#[outbox(max_retries = 0)]
struct OrderPaid;

#[outbox::handler(event = "order.paid")]
async fn ship_order(_: OrderPaid) {}

#[outbox::handler]
async fn bill_order(_: OrderPaid) {}

fn main() {}
