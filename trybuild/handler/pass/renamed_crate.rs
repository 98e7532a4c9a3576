//! The crate under another name, and behind a facade (L7).

pub extern crate outbox as ob;

use ob::OutboxEvent;

mod facade {
    pub mod messaging {
        pub use crate::ob as outbox;
    }
}

#[derive(OutboxEvent)]
#[outbox(crate = "ob")]
struct Created;

#[ob::handler(crate = "ob")]
async fn renamed(_: Created, _: ob::Context) -> Result<(), String> {
    Ok(())
}

mod elsewhere {
    #[ob::handler(crate = "crate::facade::messaging::outbox", event = "created")]
    async fn behind_a_facade(_: super::Created) {}
}

fn main() {
    let specs = ob::__private::inventory::iter::<ob::__private::HandlerSpec>;
    assert_eq!(specs.into_iter().count(), 2);
}
