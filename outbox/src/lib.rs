#![doc = include_str!("../README.md")]

mod admin;
mod call;
mod channel;
mod claim;
mod context;
mod decode;
mod dispatch;
mod emit;
mod encode;
mod error_text;
mod event;
mod extract;
mod handler;
mod ids;
mod json_text;
mod lanes;
mod lease;
mod migrate;
mod options;
mod outage;
mod outcome;
mod pattern;
mod position;
mod record;
mod recover;
mod registry;
mod retry;
mod runtime;
mod schema;
mod session;
mod settle;
mod shutdown;
mod start;
mod states;
mod stored_text;
mod wake;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use chrono;
pub use serde_json;
pub use sqlx;
pub use uuid;

pub use outbox_macros::{OutboxEvent, handler};

pub use crate::admin::{Admin, AdminError, Mutation};
pub use crate::channel::ChannelError;
pub use crate::context::Context;
pub use crate::decode::DecodeError;
pub use crate::emit::{Emit, EmitError, EmitMany, Emitter, EmitterBuilder, emit, emit_many};
pub use crate::encode::EncodeError;
pub use crate::event::{OutboxEvent, RawEvent};
pub use crate::extract::State;
pub use crate::handler::Place;
pub use crate::ids::{EventId, RecordId};
pub use crate::json_text::JsonFault;
pub use crate::migrate::{MigrateError, migrate};
pub use crate::options::{InvalidOption, Lease};
pub use crate::pattern::NameFault;
pub use crate::record::{OutboxRecord, Status, UnknownStatus};
pub use crate::retry::{Backoff, MAX_DURATION, Retry};
pub use crate::runtime::{DrainError, HandlerInfo, Outbox};
pub use crate::shutdown::ShutdownError;
pub use crate::start::{Start, StartError, StartProblem, start};
