//! Handlers whose names clash, which only `start` can notice.

use outbox::RawEvent;

#[outbox::handler(event = "order.created", name = "ship")]
async fn ship_by_road(_event: RawEvent) {}

#[outbox::handler(event = "order.paid", name = "ship")]
async fn ship_by_sea(_event: RawEvent) {}

#[outbox::handler(event = "order.paid", alias = "ship_later")]
async fn ship_by_rail(_event: RawEvent) {}

#[outbox::handler(event = "order.paid")]
async fn ship_later(_event: RawEvent) {}

fn main() -> anyhow::Result<()> {
    outbox_tests::play_role()
}
