#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[outbox::handler]
async fn ship_order<T: Clone>(_: OrderCreated, _: outbox::State<T>) {}

fn main() {}
