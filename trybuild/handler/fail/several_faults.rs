#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler(evnt = "order.created", max_retries = 0, timeout = "1y")]
fn ship_order<T>(_: &OrderCreated) {}

fn main() {}
