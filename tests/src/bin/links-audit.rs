//! A service of its own, which only writes an audit log.

use outbox::RawEvent;

#[outbox::handler(event = "order.created", name = "audit")]
async fn audit(_event: RawEvent) {}

fn main() -> anyhow::Result<()> {
    outbox_tests::play_role()
}
