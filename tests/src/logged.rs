//! What the code under test logs.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Subscriber, set_default};
use tracing::{Dispatch, Event, Metadata};

/// The log entries of this thread, from now on until the value is dropped.
///
/// A test on a current-thread runtime, as `#[tokio::test]` makes it, sees those of all its tasks.
#[derive(Debug)]
pub struct Logged {
    entries: Arc<Mutex<Vec<String>>>,
    /// With one dispatcher in the process, whichever thread first comes to a place that logs
    /// decides by its own whether that place is ever heard; with two, all are asked.
    _another: Dispatch,
    _guard: DefaultGuard,
}

impl Logged {
    /// Begins.
    #[must_use]
    pub fn here() -> Self {
        let entries = Arc::default();
        let another = Dispatch::new(Collector(Arc::default()));
        let collector = Collector(Arc::clone(&entries));
        Self {
            entries,
            _another: another,
            _guard: set_default(collector),
        }
    }

    /// The entries up to now that contain `text`, such as
    /// `WARN outbox: claims were given up claims=3`.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<String> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = entries.iter().filter(|entry| entry.contains(text));
        entries.cloned().collect()
    }
}

struct Collector(Arc<Mutex<Vec<String>>>);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("outbox")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let entry = format!("{} {}{}", event.metadata().level(), line.message, line.rest);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    rest: String,
}

impl Line {
    fn add(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            let _ = write!(self.rest, " {}={value}", field.name());
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, &format!("{value:?}"));
    }
}
