#[outbox::handler]
unsafe extern "C" {}

fn main() {}
