//! The paths that generated code names: all of them begin at the runtime crate.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

/// What generated code calls the runtime crate's `__private`, inside a constant of its own.
const PRIVATE: &str = "__outbox";

/// The way to the runtime crate: `::outbox`, or what `crate = "…"` says.
pub(crate) struct Paths {
    base: TokenStream,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            base: quote!(::outbox),
        }
    }
}

impl Paths {
    /// Paths by way of `base`, the user's own name of the crate.
    pub(crate) fn by_way_of(base: &syn::Path) -> Self {
        Self {
            base: base.to_token_stream(),
        }
    }

    /// The import by which everything else is named: a crate that isn't there is reported here,
    /// once.
    pub(crate) fn import(&self) -> TokenStream {
        let base = &self.base;
        let private = private(Span::call_site());
        quote!(use #base::__private as #private;)
    }
}

/// The module of all that generated code may name, for a path that stands at `span`.
pub(crate) fn private(span: Span) -> Ident {
    Ident::new(PRIVATE, span)
}

/// An `Option` of `value`.
pub(crate) fn option(value: Option<impl ToTokens>) -> TokenStream {
    let private = private(Span::call_site());
    value.map_or_else(
        || quote!(#private::Option::None),
        |value| quote!(#private::Option::Some(#value)),
    )
}

/// The path of `name` as text, as serde's attributes want it.
pub(crate) fn text(name: &str) -> String {
    format!("{PRIVATE}::{name}")
}
