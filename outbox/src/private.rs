//! All that expansions of the macros may name. Not part of the public interface: it changes with
//! the macros, which are pinned to this crate's version.

use serde::{Deserializer, Serializer};

pub use std::any::type_name;
pub use std::boxed::Box;
pub use std::convert::identity;
pub use std::default::Default;
pub use std::marker::{Send, Sync};
pub use std::mem::drop;
pub use std::option::Option;
pub use std::primitive::{i32, str};
pub use std::result::Result;
pub use std::string::String;
pub use std::{file, line};

pub use inventory;
pub use serde;

pub use crate::call::Call;
pub use crate::decode::{DecodeError, decode, decode_as};
pub use crate::encode::{EncodeError, encode};
pub use crate::event::OutboxEvent;
pub use crate::extract::Extract;
pub use crate::handler::{HandlerFuture, HandlerSpec, Place};
pub use crate::outcome::{Failure, IntoOutcome, Outcome};
pub use crate::retry::Backoff;
pub use crate::states::Need;

/// What serde's derive gives a shadow type, under the same names, for a shadow whose derive has
/// reported an error: nothing more is reported of it. Inherent functions go before these.
pub trait Absent {
    /// Makes the trait's import a used one in any case.
    fn is_used() {}

    /// Never runs.
    ///
    /// # Errors
    ///
    /// Always.
    fn serialize<T, S: Serializer>(_: &T, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("not derived"))
    }

    /// Never runs.
    ///
    /// # Errors
    ///
    /// Always.
    fn deserialize<'de, T, D: Deserializer<'de>>(_: D) -> Result<T, D::Error> {
        Err(serde::de::Error::custom("not derived"))
    }
}

impl<T> Absent for T {}

/// The event type of a type whose derive has reported an error already.
const FAULTY: &str = "";

/// What `RawEvent` has: any type.
const ANY: &str = "*";

/// Stops the build when a handler says `given` and its event is another type.
#[track_caller]
pub const fn check_event_type(event_type: &str, given: &str) {
    if same(event_type, FAULTY) || same(event_type, ANY) || same(event_type, given) {
        return;
    }
    let message = Message::new()
        .and("the handler says `event = \"")
        .and(given)
        .and("\"`, but its first parameter is the event \"")
        .and(event_type)
        .and("\"\nhelp: write `event = \"")
        .and(event_type)
        .and("\"`, or leave it out");
    refuse(message.text());
}

/// Stops the build when neither a handler nor its event says the event type.
#[track_caller]
pub const fn check_event_named(event_type: &str) {
    if same(event_type, ANY) {
        refuse(
            "a handler of `RawEvent` must say which events it takes\n\
             help: write `#[outbox::handler(event = \"order.created\")]`",
        );
    }
}

#[track_caller]
#[allow(clippy::panic)] // at compile time
const fn refuse(message: &str) {
    panic!("{}", message);
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// A text put together at compile time; what doesn't fit is left off.
struct Message {
    bytes: [u8; 4096],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self {
            bytes: [0; 4096],
            len: 0,
        }
    }

    const fn and(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if self.len + text.len() <= self.bytes.len() {
            let mut at = 0;
            while at < text.len() {
                self.bytes[self.len] = text[at];
                self.len += 1;
                at += 1;
            }
        }
        self
    }

    const fn text(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "the handler's `event` is not its event's type",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faulty_event_and_a_raw_one_match_every_name() {
        check_event_type("order.created", "order.created");
        check_event_type(FAULTY, "order.created");
        check_event_type(ANY, "order.*");
        check_event_named("order.created");
        check_event_named(FAULTY);
    }

    #[test]
    #[should_panic(
        expected = "says `event = \"order.paid\"`, but its first parameter is the event \"order.created\""
    )]
    fn a_mismatch_names_both_types() {
        check_event_type("order.created", "order.paid");
    }

    #[test]
    #[should_panic(expected = "must say which events it takes")]
    fn a_raw_event_needs_a_name() {
        check_event_named(ANY);
    }

    #[test]
    fn a_message_of_four_names_of_the_longest_kind_fits() {
        let longest = "\u{10ffff}".repeat(255);
        let message = Message::new().and(&longest).and(&longest).and(&longest);
        assert_eq!(message.text().len(), 3 * longest.len());
    }
}
