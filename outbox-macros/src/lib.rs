//! The macros of the `outbox` crate.

use proc_macro::TokenStream;

/// Registers an async function as a handler.
#[proc_macro_attribute]
pub fn handler(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Makes a type an event.
#[proc_macro_derive(OutboxEvent, attributes(outbox, serde))]
pub fn outbox_event(_item: TokenStream) -> TokenStream {
    TokenStream::new()
}
