//! A service before it was changed to `links-new`.

use outbox::RawEvent;

#[outbox::handler(
    event = "order.created",
    name = "ship",
    max_retries = 3,
    alias = "dispatch_order"
)]
async fn ship(_event: RawEvent) {}

#[outbox::handler(event = "order.created", name = "mail")]
async fn mail(_event: RawEvent) {}

fn main() -> anyhow::Result<()> {
    outbox_tests::play_role()
}
