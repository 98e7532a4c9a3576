//! The type under `#[derive(OutboxEvent)]`.

use proc_macro2::{Ident, TokenTree};
use syn::{Data, DeriveInput, Meta};

use crate::faults::Faults;

/// Notes what keeps `item` from being an event.
pub(crate) fn check(item: &DeriveInput, faults: &mut Faults) {
    let params = &item.generics.params;
    if !params.is_empty() {
        faults.on(
            params,
            "an event can't be generic: its type's name stands for one payload\n\
             help: derive `OutboxEvent` for a type of its own that wraps this one",
        );
    }
    match &item.data {
        Data::Enum(data) if data.variants.is_empty() => faults.on(
            &item.ident,
            "an event has at least one value, found an enum without variants\n\
             help: add a variant, or derive `OutboxEvent` for a `struct`",
        ),
        Data::Struct(_) | Data::Enum(_) => {}
        Data::Union(data) => faults.on(
            data.union_token,
            "an event is a struct or an enum, found `union`\n\
             help: write `struct` or `enum`",
        ),
    }
    check_remote(item, faults);
}

/// The type's serialization is its own: the generated one stands in for the type itself.
fn check_remote(item: &DeriveInput, faults: &mut Faults) {
    for attribute in &item.attrs {
        let Meta::List(list) = &attribute.meta else {
            continue;
        };
        if !attribute.path().is_ident("serde") {
            continue;
        }
        let mut at_key = true;
        for token in list.tokens.clone() {
            match token {
                TokenTree::Ident(key) if at_key && key == "remote" => refuse_remote(&key, faults),
                TokenTree::Punct(punct) if punct.as_char() == ',' => {
                    at_key = true;
                    continue;
                }
                _ => {}
            }
            at_key = false;
        }
    }
}

fn refuse_remote(key: &Ident, faults: &mut Faults) {
    faults.on(
        key,
        "an event can't have `#[serde(remote = \"…\")]`: it is itself what is sent\n\
         help: derive `OutboxEvent` for a type of its own with a field of the other type",
    );
}
