macro_rules! shop {
    () => {};
}

#[outbox::handler]
shop! {}

fn main() {}
