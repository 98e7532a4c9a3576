//! What is logged on this thread, as values.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
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

thread_local! {
    /// What was logged here, while somebody wants to know.
    static LINES: RefCell<Option<Vec<Line>>> = const { RefCell::new(None) };
}

/// Keeps every line of every level, from when it is made until it is dropped.
///
/// The subscriber is the process's: of subscribers that come and go, tracing may believe for a
/// moment that none wants a line.
pub(crate) struct Captured(());

impl Captured {
    pub(crate) fn begin() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Keeper).unwrap());
        tracing::callsite::rebuild_interest_cache();
        LINES.set(Some(Vec::new()));
        Self(())
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let Self(()) = self;
        LINES.with_borrow(|lines| lines.clone().unwrap_or_default())
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        LINES.set(None);
    }
}

struct Keeper;

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
        LINES.with_borrow_mut(|lines| lines.iter_mut().for_each(|lines| lines.push(line.clone())));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
