//! The macros of the `outbox` crate: use them through it.

mod args;
mod duration;
mod event;
mod event_name;
mod faults;
mod handler;
mod paths;
mod wording;

use proc_macro::TokenStream;

/// Registers an async function as a handler.
#[proc_macro_attribute]
pub fn handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handler::expand(arguments.into(), item.into()).into()
}

/// Makes a type an event.
#[proc_macro_derive(OutboxEvent, attributes(outbox, serde))]
pub fn outbox_event(item: TokenStream) -> TokenStream {
    event::expand(item.into()).into()
}
