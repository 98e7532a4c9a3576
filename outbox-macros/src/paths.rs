//! The paths that generated code names: all of them begin at the runtime crate.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

/// The way to the runtime crate: `::outbox`, or what `crate = "…"` says.
#[derive(Clone)]
pub(crate) struct Paths {
    base: TokenStream,
}

impl Default for Paths {
    fn default() -> Self {
        let base = quote_spanned!(Span::mixed_site()=> ::outbox);
        Self { base }
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

    /// The serde that the runtime crate uses, as `#[serde(crate = "…")]` wants it.
    pub(crate) fn serde(&self) -> String {
        let path: String = self
            .private()
            .into_iter()
            .map(|token| token.to_string())
            .collect();
        format!("{path}::serde")
    }
}
