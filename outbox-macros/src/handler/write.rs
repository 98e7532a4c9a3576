//! The registration of a handler.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ReturnType, Type};

use super::args::{self, Backoff, Settings};
use super::signature::Function;
use crate::paths::{option, private};

/// A constant that puts the handler on the list of those that `start` runs.
///
/// It declares no item but one import, so that it shadows nothing of the user's; its variables are
/// hygienic. Every bound on a parameter stands as `<Type as Trait>`, on the type's own tokens:
/// there the compiler reports a type that doesn't fit, once.
pub(crate) fn registration(settings: &Settings, function: &Function) -> TokenStream {
    let import = settings.paths.import();
    let private = private(Span::call_site());
    let cfgs = &function.cfgs;
    // Only where it is needed: a crate may forbid to allow it.
    let allow = function.deprecated.then(|| quote!(#[allow(deprecated)]));
    let check = check_event(settings, function);
    let spec = spec(settings, function);
    quote! {
        #(#cfgs)*
        #allow
        const _: () = {
            #import
            #check
            #private::inventory::submit! { #spec }
        };
    }
}

/// The event's type and the `event` argument agree.
fn check_event(settings: &Settings, function: &Function) -> TokenStream {
    let event_type = event_type(&function.event);
    if let Some(given) = &settings.event {
        let call = call_on(given, "check_event_type", quote!(#event_type, #given));
        quote!(#call;)
    } else {
        let call = call_on(&function.event, "check_event_named", event_type);
        quote!(#call;)
    }
}

fn event_type(event: &Type) -> TokenStream {
    associated(event, "OutboxEvent", "EVENT_TYPE")
}

fn spec(settings: &Settings, function: &Function) -> TokenStream {
    let name = args::name(settings, &function.ident);
    let aliases = &settings.aliases;
    let pattern = settings
        .event
        .as_ref()
        .map_or_else(|| event_type(&function.event), ToTokens::to_token_stream);
    let event_max_retries = associated(&function.event, "OutboxEvent", "MAX_RETRIES");
    let integer = |value: Option<u32>| option(value.map(Literal::u32_unsuffixed));
    let max_retries = integer(settings.max_retries);
    let initial_delay = integer(settings.initial_delay);
    let max_delay = integer(settings.max_delay);
    let timeout = integer(settings.timeout);
    let private = private(Span::call_site());
    let backoff = option(settings.backoff.map(|backoff| match backoff {
        Backoff::Fixed => quote!(#private::Backoff::Fixed),
        Backoff::Exponential => quote!(#private::Backoff::Exponential),
    }));
    let needs = needs(function);
    let run = run(function);
    quote! {
        #private::HandlerSpec {
            name: #name,
            aliases: &[#(#aliases),*],
            patterns: &[#pattern],
            event_max_retries: #event_max_retries,
            max_retries: #max_retries,
            backoff: #backoff,
            initial_delay_ms: #initial_delay,
            max_delay_ms: #max_delay,
            timeout_ms: #timeout,
            place: #private::Place {
                file: #private::file!(),
                line: #private::line!(),
            },
            needs: #needs,
            call: #run,
        }
    }
}

/// What the parameters after the event need, put into a list.
fn needs(function: &Function) -> TokenStream {
    let list = Ident::new("needs", Span::mixed_site());
    let notes = function.extracted.iter().map(|ty| {
        let note = associated(ty, "Extract", "needs");
        quote!(#note(#list);)
    });
    if function.extracted.is_empty() {
        quote!(|_| {})
    } else {
        quote!(|#list| { #(#notes)* })
    }
}

/// One attempt: read all parameters, let the payload go, run the function.
fn run(function: &Function) -> TokenStream {
    let ident = &function.ident;
    let private = private(Span::call_site());
    let call = Ident::new("call", Span::mixed_site());
    let arguments: Vec<Ident> = (0..=function.extracted.len())
        .map(|at| format_ident!("argument_{at}", span = Span::mixed_site()))
        .collect();
    let receive = associated(&function.event, "OutboxEvent", "receive");
    let event = quote!(#call.event_by(#receive));
    let extracted = function.extracted.iter().map(|ty| {
        let extract = associated(ty, "Extract", "extract");
        quote!(#extract(&#call))
    });
    let reads = std::iter::once(event).chain(extracted);
    let result = Ident::new("result", Span::mixed_site());
    let outcome = outcome(&function.output, &result);
    // Where the compiler says that a handler's future can't be sent to another thread.
    let future = Ident::new("future", at(ident.span()));
    // The function as a value, not called by its name: so it counts as one that must be async,
    // with or without an `.await` in its body.
    quote_spanned! {Span::mixed_site()=>
        |#call: #private::Call| -> #private::HandlerFuture {
            let #future = #private::Box::pin(async move {
                #(
                    let #arguments = match #reads {
                        #private::Result::Ok(argument) => argument,
                        #private::Result::Err(failure) => {
                            return #private::Outcome::Failed(failure);
                        }
                    };
                )*
                #private::drop(#call);
                let handler = #ident;
                let #result = handler(#(#arguments),*).await;
                #outcome
            });
            #future
        }
    }
}

/// `result` as an outcome, on the return type's tokens. They aren't repeated: a type that isn't
/// there would be reported twice.
fn outcome(output: &ReturnType, result: &Ident) -> TokenStream {
    let (start, argument) = match output {
        ReturnType::Default => (at(result.span()), result.to_token_stream()),
        ReturnType::Type(_, ty) => (
            ends(ty).0,
            call_on(ty, "identity", result.to_token_stream()),
        ),
    };
    let private = private(start);
    quote_spanned!(start=> #private::IntoOutcome::into_outcome(#argument))
}

/// `<ty as name>::item`, all of it on the tokens of `ty`.
fn associated(ty: &Type, name: &str, item: &str) -> TokenStream {
    let (start, end) = ends(ty);
    let private = private(start);
    let name = Ident::new(name, start);
    let item = Ident::new(item, end);
    quote_spanned!(start=> <#ty as #private::#name>::#item)
}

/// A call of a function of the runtime crate that stands from the first token of `place` to its
/// last.
fn call_on(place: impl ToTokens, function: &str, arguments: TokenStream) -> TokenStream {
    let (start, end) = ends(place);
    let private = private(start);
    let function = Ident::new(function, start);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(end);
    let arguments = TokenTree::from(arguments);
    quote_spanned!(start=> #private::#function #arguments)
}

/// The places of the first and the last of `tokens`, with the hygiene of generated code.
fn ends(tokens: impl ToTokens) -> (Span, Span) {
    let mut tokens = tokens
        .into_token_stream()
        .into_iter()
        .map(|token| token.span());
    let start = tokens.next().unwrap_or_else(Span::mixed_site);
    let end = tokens.last().unwrap_or(start);
    (at(start), at(end))
}

fn at(place: Span) -> Span {
    place.resolved_at(Span::mixed_site())
}
