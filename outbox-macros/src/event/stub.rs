//! The impl beside an error: uses of the type find the trait and report nothing more.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::DeriveInput;

use crate::paths::{Paths, private};

/// An impl without an event type, which no check of handlers compares.
pub(crate) fn event(paths: &Paths, item: &DeriveInput) -> TokenStream {
    let import = paths.import();
    let private = private(Span::call_site());
    let ident = &item.ident;
    let (generics, arguments, _) = item.generics.split_for_impl();
    let clauses = item
        .generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    quote_spanned! {Span::mixed_site()=>
        const _: () = {
            #import
            impl #generics #private::OutboxEvent for #ident #arguments
            where
                #(#clauses,)*
                Self: #private::Send + #private::Sync + 'static,
            {
                const EVENT_TYPE: &'static #private::str = "";

                fn to_json(&self) -> #private::Result<#private::String, #private::EncodeError> {
                    loop {}
                }

                fn from_json(_: &#private::str) -> #private::Result<Self, #private::DecodeError> {
                    loop {}
                }
            }
        };
    }
}
