//! A handler as the macro registers it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::call::Call;
use crate::outcome::Outcome;
use crate::retry::{Backoff, Partial};
use crate::states::Need;

/// A handler's run, boxed: handlers of all types stand in one table.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What `#[outbox::handler]` registers. Filled by the macro only.
#[derive(Debug)]
pub struct HandlerSpec {
    /// Stored on the record.
    pub name: &'static str,
    /// Former names.
    pub aliases: &'static [&'static str],
    /// The patterns of the event types that it takes.
    pub patterns: &'static [&'static str],
    /// The event type's own limit.
    pub event_max_retries: Option<i32>,
    /// The attribute's limit.
    pub max_retries: Option<i32>,
    /// The attribute's backoff.
    pub backoff: Option<Backoff>,
    /// In ms.
    pub initial_delay_ms: Option<u32>,
    /// In ms.
    pub max_delay_ms: Option<u32>,
    /// In ms.
    pub timeout_ms: Option<u32>,
    /// Where the function stands.
    pub place: Place,
    /// Notes what its parameters need.
    pub needs: fn(&mut Vec<Need>),
    /// Runs it once.
    pub call: fn(Call) -> HandlerFuture,
}

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// As `file!()` says it.
    pub file: &'static str,
    /// As `line!()` says it.
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

inventory::collect!(HandlerSpec);

impl HandlerSpec {
    pub(crate) fn policy(&self) -> Partial {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Partial {
            backoff: self.backoff,
            initial_delay: self.initial_delay_ms.map(ms),
            max_delay: self.max_delay_ms.map(ms),
        }
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(|ms| Duration::from_millis(ms.into()))
    }
}
