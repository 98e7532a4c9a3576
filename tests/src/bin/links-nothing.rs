//! A program without any handler: it emits, and can't start.

fn main() -> anyhow::Result<()> {
    outbox_tests::play_role()
}
