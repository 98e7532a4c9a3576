//! The registration of a handler.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ReturnType, Type};

use super::args::{self, Backoff, Settings};
use super::signature::Function;

/// A constant that puts the handler on the list of those that `start` runs.
///
/// It declares no item of its own, so that it shadows nothing of the user's; its variables are
/// hygienic. Every bound stands as `<Type as Trait>`, on the type's own tokens: there the compiler
/// reports a type that doesn't fit, once.
pub(crate) fn registration(settings: &Settings, function: &Function) -> TokenStream {
    let private = settings.paths.private();
    let cfgs = &function.cfgs;
    let checks = event_checks(settings, function, &private);
    let spec = spec(settings, function, &private);
    quote_spanned! {Span::mixed_site()=>
        #(#cfgs)*
        #[allow(deprecated)]
        const _: () = {
            #checks
            #private::inventory::submit! { #spec }
        };
    }
}

/// The event's type and the `event` argument agree.
fn event_checks(settings: &Settings, function: &Function, private: &TokenStream) -> TokenStream {
    let event_type = event_type(&function.event, private);
    if let Some(given) = &settings.event {
        quote_spanned!(at(given)=> #private::check_event_type(#event_type, #given);)
    } else {
        quote_spanned!(at(&function.event)=> #private::check_event_named(#event_type);)
    }
}

fn event_type(event: &Type, private: &TokenStream) -> TokenStream {
    quote_spanned!(at(event)=> <#event as #private::OutboxEvent>::EVENT_TYPE)
}

fn spec(settings: &Settings, function: &Function, private: &TokenStream) -> TokenStream {
    let name = args::name(settings, &function.ident);
    let aliases = &settings.aliases;
    let event = &function.event;
    let pattern = settings
        .event
        .as_ref()
        .map_or_else(|| event_type(event, private), ToTokens::to_token_stream);
    let event_max_retries =
        quote_spanned!(at(event)=> <#event as #private::OutboxEvent>::MAX_RETRIES);
    let paths = &settings.paths;
    let integer = |value: Option<u32>| paths.option(value.map(Literal::u32_unsuffixed));
    let max_retries = integer(settings.max_retries);
    let initial_delay = integer(settings.initial_delay);
    let max_delay = integer(settings.max_delay);
    let timeout = integer(settings.timeout);
    let backoff = paths.option(settings.backoff.map(|backoff| match backoff {
        Backoff::Fixed => quote!(#private::Backoff::Fixed),
        Backoff::Exponential => quote!(#private::Backoff::Exponential),
    }));
    let needs = function
        .extracted
        .iter()
        .map(|ty| quote_spanned!(at(ty)=> <#ty as #private::Extract>::needs(needs);));
    // The closures' variables must be of one hygiene with `needs` above.
    let call = call(function, private);
    quote_spanned! {Span::mixed_site()=>
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
            needs: |needs| { #(#needs)* let _ = needs; },
            call: #call,
        }
    }
}

/// One attempt: read all parameters, let the payload go, run the function.
fn call(function: &Function, private: &TokenStream) -> TokenStream {
    let ident = &function.ident;
    let event = &function.event;
    let arguments: Vec<Ident> = (0..=function.extracted.len())
        .map(|at| format_ident!("argument_{at}", span = Span::mixed_site()))
        .collect();
    let read_event = quote_spanned! {at(event)=>
        call.event_by(<#event as #private::OutboxEvent>::receive)
    };
    let extracts = function
        .extracted
        .iter()
        .map(|ty| quote_spanned!(at(ty)=> <#ty as #private::Extract>::extract(&call)));
    let reads = std::iter::once(read_event).chain(extracts);
    let outcome = outcome(&function.output, private);
    // The function as a value, not called by its name: so it counts as one that must be async,
    // with or without an `.await` in its body.
    let run = quote_spanned! {at(ident)=>
        #private::Box::pin(async move {
            #(
                let #arguments = match #reads {
                    #private::Result::Ok(argument) => argument,
                    #private::Result::Err(failure) => {
                        return #private::Outcome::Failed(failure);
                    }
                };
            )*
            #private::drop(call);
            let handler = #ident;
            let result = handler(#(#arguments),*).await;
            #outcome
        })
    };
    quote_spanned! {Span::mixed_site()=>
        |call: #private::Call| -> #private::HandlerFuture { #run }
    }
}

fn outcome(output: &ReturnType, private: &TokenStream) -> TokenStream {
    match output {
        ReturnType::Type(_, ty) if !matches!(**ty, Type::ImplTrait(_)) => {
            quote_spanned!(at(ty)=> <#ty as #private::IntoOutcome>::into_outcome(result))
        }
        output => quote_spanned!(at(output)=> #private::IntoOutcome::into_outcome(result)),
    }
}

/// The place of `tokens`, with the hygiene of generated code.
fn at(tokens: &impl Spanned) -> Span {
    tokens.span().resolved_at(Span::mixed_site())
}
