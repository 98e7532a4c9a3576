#[derive(outbox::OutboxEvent)]
struct OrderCreated;

#[derive(Clone)]
struct Mailer;

#[outbox::handler]
async fn ship_order(_: OrderCreated, _: Mailer) {}

fn main() {}
