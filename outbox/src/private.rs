//! All that expansions of the macros may name. Not part of the public interface: it changes with
//! the macros, which are pinned to this crate's version.

pub use std::boxed::Box;
pub use std::option::Option;
pub use std::result::Result;
pub use std::string::String;

pub use inventory;
pub use serde;

pub use crate::decode::{decode, decode_as};
pub use crate::encode::encode;
pub use crate::event::OutboxEvent;
pub use crate::extract::{Extract, Need};
pub use crate::handler::{Call, HandlerFuture, HandlerSpec, Place};
pub use crate::outcome::{Failure, IntoOutcome, Outcome};
pub use crate::retry::Backoff;
