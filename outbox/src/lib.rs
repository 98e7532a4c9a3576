//! A transactional outbox for Rust and PostgreSQL, by annotation.

mod context;
mod decode;
mod encode;
mod event;
mod extract;
mod handler;
mod ids;
mod outcome;
mod record;
mod retry;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use chrono;
pub use serde_json;
pub use sqlx;
pub use uuid;

pub use outbox_macros::{OutboxEvent, handler};

pub use crate::context::Context;
pub use crate::decode::DecodeError;
pub use crate::encode::EncodeError;
pub use crate::event::{OutboxEvent, RawEvent};
pub use crate::extract::State;
pub use crate::ids::{EventId, RecordId};
pub use crate::record::{OutboxRecord, Status, UnknownStatus};
pub use crate::retry::{Backoff, MAX_DURATION, Retry};
