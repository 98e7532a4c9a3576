#[derive(outbox::OutboxEvent)]
#[serde(remote = "Duration")]
struct DurationDef {
    secs: u64,
}

fn main() {}
