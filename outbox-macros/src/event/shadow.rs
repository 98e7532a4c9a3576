//! The shadow type that carries an event's serialization.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Generics, LitStr, Meta, MetaList, Type,
    Visibility, parse_quote,
};

use crate::paths::{private, text};

/// A type of the same shape with serde's own derive, which reads and writes `item` itself, and
/// two wrappers that give what it generates to serde's traits.
///
/// It copies the user's tokens, so that the compiler's complaints about them stand where they
/// were written, and are told once; and what the user allowed there is allowed here.
pub(crate) fn items(item: &DeriveInput) -> TokenStream {
    let private = private(Span::call_site());
    let ident = &item.ident;
    let body = shadow_type(item);
    // Not hygienic: serde mixes variables of its own with those at the places of the user's paths.
    let shadow = quote! {
        #[derive(#private::serde::Serialize, #private::serde::Deserialize)]
        // Lints that look at who can see a type would say something new of the copy.
        #[allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        #body
    };
    quote_spanned! {Span::mixed_site()=>
        #shadow

        // For when serde's derive has reported an error: what it didn't write is found here.
        use #private::Absent as _;

        struct __OutboxRef<'a>(&'a #ident);

        #[automatically_derived]
        impl #private::serde::Serialize for __OutboxRef<'_> {
            fn serialize<S: #private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> #private::Result<S::Ok, S::Error> {
                __OutboxShadow::is_used();
                __OutboxShadow::serialize(self.0, serializer)
            }
        }

        struct __OutboxOwned(#ident);

        #[automatically_derived]
        impl<'de> #private::serde::Deserialize<'de> for __OutboxOwned {
            fn deserialize<D: #private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> #private::Result<Self, D::Error> {
                #private::Result::map(__OutboxShadow::deserialize(deserializer), Self)
            }
        }
    }
}

/// `item` as the shadow: its fields and serde's attributes, no more.
fn shadow_type(item: &DeriveInput) -> DeriveInput {
    let name = &item.ident;
    let mut attrs = kept_attributes(&item.attrs, name);
    for attribute in &mut attrs {
        default_of(name, attribute);
    }
    attrs.push(link(name, &attrs));
    attrs.extend(item.attrs.iter().filter(|a| is_packed(a)).cloned());
    let mut data = item.data.clone();
    match &mut data {
        Data::Struct(data) => shadow_fields(&mut data.fields, name),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                variant.attrs = kept_attributes(&variant.attrs, name);
                variant.discriminant = None;
                shadow_fields(&mut variant.fields, name);
            }
        }
        // Refused before.
        Data::Union(_) => {}
    }
    DeriveInput {
        attrs,
        vis: Visibility::Inherited,
        ident: Ident::new("__OutboxShadow", Span::call_site()),
        generics: Generics::default(),
        data,
    }
}

fn shadow_fields(fields: &mut Fields, name: &Ident) {
    for field in fields {
        let Field { attrs, vis, ty, .. } = field;
        *attrs = kept_attributes(attrs, name);
        *vis = Visibility::Inherited;
        *ty = Type::Verbatim(without_self(ty.to_token_stream(), name));
    }
}

/// serde's attributes, and the lints that the user allowed.
fn kept_attributes(attributes: &[Attribute], name: &Ident) -> Vec<Attribute> {
    let kept = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) if attribute.path().is_ident("serde") => {
                let mut kept = attribute.clone();
                kept.meta = Meta::List(serde_only(list, name));
                Some(kept)
            }
            Meta::List(list) if is_one_of(attribute, &["allow", "expect"]) => {
                let lints = &list.tokens;
                Some(parse_quote!(#[allow(#lints)]))
            }
            _ => None,
        });
    kept.collect()
}

fn is_one_of(attribute: &Attribute, names: &[&str]) -> bool {
    names.iter().any(|name| attribute.path().is_ident(name))
}

/// `#[serde(crate, remote, rename)]`: which serde, which type, and that type's name where the
/// user didn't give another. (serde would take the shadow's, and a `tag` on a struct sends it.)
fn link(name: &Ident, attributes: &[Attribute]) -> Attribute {
    let own_name = name.unraw().to_string();
    let serde = LitStr::new(&text("serde"), Span::mixed_site());
    let remote = LitStr::new(&name.to_string(), name.span());
    let sides = ["serialize", "deserialize"]
        .into_iter()
        .filter(|side| !is_renamed(attributes, side))
        .map(|side| Ident::new(side, Span::mixed_site()));
    let sides: Vec<Ident> = sides.collect();
    if sides.is_empty() {
        parse_quote!(#[serde(crate = #serde, remote = #remote)])
    } else {
        parse_quote!(#[serde(crate = #serde, remote = #remote, rename(#(#sides = #own_name),*))])
    }
}

/// `#[serde(default)]` on the type with the type's name in it: serde would ask for the shadow's
/// `Default`.
fn default_of(name: &Ident, attribute: &mut Attribute) {
    let is_serde = attribute.path().is_ident("serde");
    let Meta::List(list) = &mut attribute.meta else {
        return;
    };
    if !is_serde {
        return;
    }
    let metas = split(list.tokens.clone())
        .into_iter()
        .map(|meta| match &meta[..] {
            [TokenTree::Ident(key)] if key == "default" => {
                let path = format!("<{name} as {}>::default", text("Default"));
                let path = LitStr::new(&path, key.span());
                quote!(#key = #path)
            }
            _ => meta.into_iter().collect(),
        });
    list.tokens = quote!(#(#metas),*);
}

/// Whether the user renamed the type for `side`.
fn is_renamed(attributes: &[Attribute], side: &str) -> bool {
    let metas = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) => Some(split(list.tokens.clone())),
            _ => None,
        });
    metas.flatten().any(|meta| match &meta[..] {
        [TokenTree::Ident(key), TokenTree::Group(sides)] if key == "rename" => sides
            .stream()
            .into_iter()
            .any(|token| matches!(token, TokenTree::Ident(ident) if ident == side)),
        [TokenTree::Ident(key), ..] => key == "rename",
        _ => false,
    })
}

/// A `serde(…)` without the parts that [`link`] decides, and with `Self` in paths replaced by
/// `name`.
fn serde_only(list: &MetaList, name: &Ident) -> MetaList {
    let metas = split(list.tokens.clone())
        .into_iter()
        .filter(|meta| !matches!(meta.first(), Some(TokenTree::Ident(key)) if key == "crate"))
        .map(|meta| path_without_self(meta, name));
    MetaList {
        tokens: quote!(#(#metas),*),
        ..list.clone()
    }
}

fn is_packed(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    attribute.path().is_ident("repr")
        && list
            .tokens
            .clone()
            .into_iter()
            .any(|token| matches!(token, TokenTree::Ident(ident) if ident == "packed"))
}

/// The parts between commas.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens
        .split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
        .filter(|part| !part.is_empty())
        .map(<[TokenTree]>::to_vec)
        .collect()
}

/// A part of a serde attribute; where it is a string with a path or a type, without `Self`, which
/// would be the shadow there.
fn path_without_self(meta: Vec<TokenTree>, name: &Ident) -> TokenStream {
    const PATHS: [&str; 8] = [
        "default",
        "skip_serializing_if",
        "with",
        "serialize_with",
        "deserialize_with",
        "from",
        "try_from",
        "into",
    ];
    if let [TokenTree::Ident(key), equals, TokenTree::Literal(literal)] = &meta[..]
        && PATHS.iter().any(|path| key == path)
        && let Ok(path) = syn::parse2::<LitStr>(TokenTree::from(literal.clone()).into())
        && path.value().contains("Self")
        && let Ok(tokens) = path.parse::<TokenStream>()
    {
        let replaced = without_self(tokens, name).to_string();
        let replaced = LitStr::new(&replaced, path.span());
        return quote!(#key #equals #replaced);
    }
    meta.into_iter().collect()
}

/// `tokens` with `name` for `Self`.
fn without_self(tokens: TokenStream, name: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == "Self" => {
                let mut name = name.clone();
                name.set_span(ident.span());
                name.into()
            }
            TokenTree::Group(group) => {
                let inside = without_self(group.stream(), name);
                let mut replaced = Group::new(group.delimiter(), inside);
                replaced.set_span(group.span());
                replaced.into()
            }
            other => other,
        })
        .collect()
}
