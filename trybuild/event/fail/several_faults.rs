#[derive(outbox::OutboxEvent)]
#[outbox(event = "", max_retries = 0, color = "red")]
struct Changed<T> {
    #[outbox(skip)]
    to: T,
}

fn main() {}
