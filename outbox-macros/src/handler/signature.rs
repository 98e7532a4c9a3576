//! The function under `#[outbox::handler]`: all of it that the registration uses.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Meta, ReturnType, Safety, Signature, Token, Type, Visibility};

use crate::faults::Faults;
use crate::wording::mentions;

/// A function that can be a handler.
pub(crate) struct Function {
    pub(crate) ident: Ident,
    /// The attributes that say in which builds the function exists.
    pub(crate) cfgs: Vec<TokenStream>,
    /// Whether the attributes speak of `deprecated`, be it the function or what it allows.
    pub(crate) deprecated: bool,
    pub(crate) event: Type,
    /// The types of the parameters after the event.
    pub(crate) extracted: Vec<Type>,
    pub(crate) output: ReturnType,
}

/// A function's head. Its body is the compiler's business.
struct Head {
    attributes: Vec<Attribute>,
    signature: Signature,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let signature = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(Self {
            attributes,
            signature,
        })
    }
}

/// The function, or all that keeps it from being a handler.
pub(crate) fn read(item: TokenStream) -> syn::Result<Function> {
    if let Some(kind) = other_kind(&item) {
        let message = format!(
            "`#[outbox::handler]` goes on an `async fn`, found `{kind}`\n\
             help: write `async fn send_confirmation(event: OrderCreated)` below it"
        );
        return Err(syn::Error::new(kind.span(), message));
    }
    let Head {
        attributes,
        signature,
    } = syn::parse2(item)?;
    let mut faults = Faults::default();
    check_qualifiers(&signature, &mut faults);
    check_generics(&signature, &mut faults);
    match check_parameters(&signature, &mut faults) {
        Ok((event, extracted)) => faults.or(Function {
            ident: signature.ident,
            cfgs: attributes.iter().filter_map(cfg).collect(),
            deprecated: attributes
                .iter()
                .any(|attribute| mentions(attribute, "deprecated")),
            event,
            extracted,
            output: signature.output,
        }),
        Err(fault) => Err(faults.and(fault)),
    }
}

/// The first token that shows the item to be no function: the word that begins it otherwise.
fn other_kind(item: &TokenStream) -> Option<Ident> {
    let mut qualifier = None;
    for token in item.clone() {
        let TokenTree::Ident(word) = token else {
            continue;
        };
        match word.to_string().as_str() {
            "fn" => return None,
            "pub" => {}
            "async" | "unsafe" | "extern" | "safe" | "gen" | "const" => qualifier = Some(word),
            // `const NAME` begins with `const`, and a call of a macro with its name.
            _ => return qualifier.or(Some(word)),
        }
    }
    qualifier
}

fn check_qualifiers(signature: &Signature, faults: &mut Faults) {
    let name = &signature.ident;
    let mend = format!("help: write `async fn {name}(…)`");
    if signature.asyncness.is_none() && signature.constness.is_none() {
        faults.on(
            signature.fn_token,
            format!("`#[outbox::handler]` needs an `async fn`, found `fn`\n{mend}"),
        );
    }
    let mut refuse = |token: &dyn ToTokens, word: &str| {
        let message = format!("a handler can't be `{word}`; expected a plain `async fn`\n{mend}");
        faults.on(token.to_token_stream(), message);
    };
    if let Some(token) = &signature.constness {
        refuse(token, "const");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        refuse(token, "unsafe");
    }
    if let Some(abi) = &signature.abi {
        refuse(&abi.extern_token, "extern");
    }
}

fn check_generics(signature: &Signature, faults: &mut Faults) {
    let params = &signature.generics.params;
    if !params.is_empty() {
        let name = &signature.ident;
        faults.on(
            params,
            format!(
                "a handler can't be generic: it is registered once, for one event\n\
                 help: write `async fn {name}(…)` with the types themselves"
            ),
        );
    }
}

/// The types of the event and of the parameters after it.
fn check_parameters(signature: &Signature, faults: &mut Faults) -> syn::Result<(Type, Vec<Type>)> {
    let name = &signature.ident;
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                let message = format!(
                    "a handler can't take `self`; expected a free function\n\
                     help: write `async fn {name}(event: OrderCreated)` outside the `impl`, and \
                     take shared values as `State<T>`"
                );
                return Err(syn::Error::new_spanned(receiver, message));
            }
            FnArg::Typed(parameter) => {
                check_cfg(&parameter.attrs, faults);
                check_impl(&parameter.ty, faults);
                types.push(Type::clone(&parameter.ty));
            }
        }
    }
    if let Some(variadic) = &signature.variadic {
        faults.on(variadic, "a handler can't be variadic\nhelp: remove `...`");
    }
    let mut types = types.into_iter();
    let Some(event) = types.next() else {
        let message = format!(
            "a handler takes an event as its first parameter, found none\n\
             help: write `async fn {name}(event: OrderCreated)`"
        );
        return Err(syn::Error::new(signature.paren_token.span.join(), message));
    };
    if let Type::Reference(reference) = unwrapped(&event) {
        let by_value = reference.elem.to_token_stream();
        faults.on(
            reference,
            format!(
                "a handler takes its event by value, found a reference\nhelp: write `{by_value}`"
            ),
        );
    }
    Ok((event, types.collect()))
}

/// Every type is one that the registration can name.
fn check_impl(ty: &Type, faults: &mut Faults) {
    if let Some(span) = find_impl(ty.to_token_stream()) {
        faults.at(
            span,
            "a handler's parameter can't be an `impl Trait`\nhelp: write the type itself",
        );
    }
}

/// A parameter is there in every build: the registration can't leave an argument out.
fn check_cfg(attributes: &[Attribute], faults: &mut Faults) {
    for attribute in attributes
        .iter()
        .filter(|attribute| cfg(attribute).is_some())
    {
        faults.on(
            attribute,
            "a handler's parameter can't depend on `cfg`\n\
             help: write two functions, each under a `#[cfg(…)]` of its own",
        );
    }
}

/// `ty` out of parentheses and of the invisible groups of `macro_rules`.
fn unwrapped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => unwrapped(&group.elem),
        Type::Paren(paren) => unwrapped(&paren.elem),
        ty => ty,
    }
}

/// Where `impl` stands in a type.
fn find_impl(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "impl" => Some(ident.span()),
        TokenTree::Group(group) => find_impl(group.stream()),
        _ => None,
    })
}

/// `attribute` if it is a `cfg`, or what a `cfg_attr` has of them.
fn cfg(attribute: &Attribute) -> Option<TokenStream> {
    let Meta::List(list) = &attribute.meta else {
        return None;
    };
    if attribute.path().is_ident("cfg") {
        return Some(attribute.to_token_stream());
    }
    if !attribute.path().is_ident("cfg_attr") {
        return None;
    }
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    let metas = list.parse_args_with(parser).ok()?;
    let predicate = metas.first()?;
    let cfgs = metas
        .iter()
        .skip(1)
        .filter(|meta| meta.path().is_ident("cfg"));
    let cfgs: Vec<&Meta> = cfgs.collect();
    (!cfgs.is_empty()).then(|| quote!(#[cfg_attr(#predicate, #(#cfgs),*)]))
}
