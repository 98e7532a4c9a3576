#[outbox::handler]
async fn ship_order(_: outbox::RawEvent) {}

fn main() {}
