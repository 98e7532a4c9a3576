//! The impl of an event.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::DeriveInput;

use super::attrs::{Serialization, Settings};
use super::shadow;
use crate::paths::{option, private};
use crate::wording::mentions;

/// The impl, in a constant of its own, together with what it needs.
pub(crate) fn event(settings: &Settings, item: &DeriveInput) -> TokenStream {
    let import = settings.paths.import();
    let private = private(Span::call_site());
    let ident = &item.ident;
    let event_type = &settings.event_type;
    let max_retries = settings.max_retries.map(Literal::u32_unsuffixed);
    let max_retries = option(max_retries);
    let (helpers, encoded, decoded) = match settings.serialization {
        Serialization::Own => (
            TokenStream::new(),
            quote_spanned!(Span::mixed_site()=> self),
            quote_spanned!(Span::mixed_site()=> #private::decode::<Self>(json)),
        ),
        Serialization::Generated => (
            shadow::items(item),
            quote_spanned!(Span::mixed_site()=> &__OutboxRef(self)),
            quote_spanned! {Span::mixed_site()=>
                #private::Result::map(
                    #private::decode_as::<__OutboxOwned>(json, #private::type_name::<Self>()),
                    |owned| owned.0,
                )
            },
        ),
    };
    // Only where it is needed: a crate may forbid to allow it.
    let allow = mentions(item, "deprecated").then(|| quote!(#[allow(deprecated)]));
    quote_spanned! {Span::mixed_site()=>
        #allow
        const _: () = {
            #import
            #helpers

            #[automatically_derived]
            impl #private::OutboxEvent for #ident {
                const EVENT_TYPE: &'static #private::str = #event_type;
                const MAX_RETRIES: #private::Option<#private::i32> = #max_retries;

                fn to_json(&self) -> #private::Result<#private::String, #private::EncodeError> {
                    #private::encode(#encoded)
                }

                fn from_json(
                    json: &#private::str,
                ) -> #private::Result<Self, #private::DecodeError> {
                    #decoded
                }
            }
        };
    }
}
