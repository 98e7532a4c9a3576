#[derive(outbox::OutboxEvent)]
struct OrderCreated;

struct Mailer;

#[outbox::handler]
async fn ship_order(_: OrderCreated, _: outbox::State<Mailer>) {}

fn main() {}
