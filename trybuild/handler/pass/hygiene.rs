//! Generated code needs no prelude, and nothing of the user's gets in its way.

#![no_implicit_prelude]
#![deny(warnings)]
#![allow(non_camel_case_types, dead_code)]

struct Option;
struct Result;
struct Box;
struct String;
struct Ok;
struct Err;
struct Some;
struct None;
struct Send;
struct outbox;
struct serde;
struct Failure;
struct Outcome;
mod core {}
mod std {}
mod __private {}

#[derive(::outbox::OutboxEvent, ::std::fmt::Debug)]
struct Created {
    id: u64,
    inner: Inner,
}

#[derive(::outbox::OutboxEvent)]
#[outbox(crate = "::outbox")]
enum Changed {
    From(u8),
    To { id: u8 },
}

#[derive(::outbox::OutboxEvent, ::serde::Serialize, ::serde::Deserialize, ::std::fmt::Debug)]
struct Inner(u8);

/// Functions and parameters of the names that the registration uses for its own variables.
#[::outbox::handler]
async fn call(call: Created) {
    let _ = call;
}

#[::outbox::handler(event = "created")]
async fn handler(handler: Created) -> ::std::result::Result<(), ::std::string::String> {
    let _ = handler;
    ::std::result::Result::Ok(())
}

#[::outbox::handler]
async fn needs(needs: Changed, argument: ::outbox::Context, result: ::outbox::State<u8>) {
    let _ = (needs, argument, result);
}

#[::outbox::handler]
async fn argument_0(argument_0: Inner) {
    let _ = argument_0;
}

#[::outbox::handler]
async fn drop(event: Inner) {
    let _ = event;
}

fn main() {}
