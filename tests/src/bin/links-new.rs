//! `links-old` after some changes: one handler has another limit, no former name and other events,
//! one was renamed, one is new.

use outbox::RawEvent;

#[outbox::handler(event = "order.*", name = "ship", max_retries = 7)]
async fn ship(_event: RawEvent) {}

#[outbox::handler(event = "order.created", name = "notify", alias = "mail")]
async fn notify(_event: RawEvent) {}

#[outbox::handler(event = "order.created", name = "bill")]
async fn bill(_event: RawEvent) {}

fn main() -> anyhow::Result<()> {
    outbox_tests::play_role()
}
