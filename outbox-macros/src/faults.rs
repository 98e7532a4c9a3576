//! The faults of one item: collected, then reported together.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;

/// What is wrong with an item, in the order in which it was found.
#[derive(Default)]
pub(crate) struct Faults(Option<syn::Error>);

impl Faults {
    /// Notes a fault of `tokens`. They must not be empty: an error without a token has no place.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Notes a fault at `span`.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, fault: syn::Error) {
        match &mut self.0 {
            None => self.0 = Some(fault),
            Some(faults) => faults.combine(fault),
        }
    }

    /// All faults as one error, `last` the last of them.
    pub(crate) fn and(mut self, last: syn::Error) -> syn::Error {
        match self.0.take() {
            None => last,
            Some(mut faults) => {
                faults.combine(last);
                faults
            }
        }
    }

    /// `value`, unless something was wrong.
    pub(crate) fn or<T>(self, value: T) -> Result<T, syn::Error> {
        match self.0 {
            None => Ok(value),
            Some(faults) => Err(faults),
        }
    }
}
