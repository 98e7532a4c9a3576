//! What is logged on this thread, as values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: &'static str,
    /// The message stands under `message`.
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Line {
    pub(crate) fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

/// Keeps every line of every level, from when it is made until it is dropped.
pub(crate) struct Captured {
    lines: Arc<Mutex<Vec<Line>>>,
    _guard: DefaultGuard,
}

impl Captured {
    pub(crate) fn begin() -> Self {
        let lines = Arc::default();
        let keeper = Keeper(Arc::clone(&lines));
        Self {
            lines,
            _guard: tracing::subscriber::set_default(keeper),
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }
}

struct Keeper(Arc<Mutex<Vec<Line>>>);

impl Subscriber for Keeper {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line {
            level: *event.metadata().level(),
            target: event.metadata().target(),
            fields: BTreeMap::new(),
        };
        event.record(&mut line);
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
