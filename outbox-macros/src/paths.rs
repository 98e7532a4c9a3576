//! The paths that generated code names: all of them begin at the runtime crate.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// The way to the runtime crate: `::outbox`, or what `crate = "…"` says.
#[derive(Clone)]
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

    /// The module of all that generated code may name.
    pub(crate) fn private(&self) -> TokenStream {
        let base = &self.base;
        quote!(#base::__private)
    }

    /// An `Option` of `value`.
    pub(crate) fn option(&self, value: Option<impl ToTokens>) -> TokenStream {
        let private = self.private();
        value.map_or_else(
            || quote!(#private::Option::None),
            |value| quote!(#private::Option::Some(#value)),
        )
    }

    /// The path of `name` in that module as text, as serde's attributes want it.
    pub(crate) fn text(&self, name: &str) -> String {
        let tokens = self.private().into_iter();
        let module: String = tokens.map(|token| token.to_string()).collect();
        format!("{module}::{name}")
    }
}
