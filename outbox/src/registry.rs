//! The handlers that are linked into this binary.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::handler::HandlerSpec;
use crate::pattern::{candidates, selects};

/// How many event types are remembered. Types are few; who makes them up at run time pays a little
/// more for those beyond.
const REMEMBERED: usize = 1_024;

/// All handlers of this binary, by name and then by place.
pub(crate) fn all() -> &'static [&'static HandlerSpec] {
    static ALL: LazyLock<Vec<&'static HandlerSpec>> = LazyLock::new(|| {
        let mut all: Vec<&'static HandlerSpec> = inventory::iter::<HandlerSpec>().collect();
        all.sort_by_key(|spec| (spec.name, spec.place.file, spec.place.line));
        all
    });
    &ALL
}

/// What emit needs to know about one event type, as the columns that its statements take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The patterns that select the type.
    pub(crate) candidates: Vec<String>,
    /// The linked handlers that take it, each once, in name order.
    pub(crate) handlers: Vec<&'static str>,
    /// Their attributes' limits.
    pub(crate) max_retries: Vec<Option<i32>>,
    /// Former names of these handlers …
    pub(crate) aliases: Vec<&'static str>,
    /// … and whose they are.
    pub(crate) alias_of: Vec<&'static str>,
}

impl Linked {
    /// `specs` in name order.
    fn of(event_type: &str, specs: &[&'static HandlerSpec]) -> Self {
        let mut linked = Self {
            candidates: candidates(event_type),
            handlers: Vec::new(),
            max_retries: Vec::new(),
            aliases: Vec::new(),
            alias_of: Vec::new(),
        };
        for spec in specs {
            let takes = |pattern: &&str| selects(pattern, event_type);
            // `start` refuses two handlers of one name; emit goes on with the first.
            if !spec.patterns.iter().any(takes) || linked.handlers.last() == Some(&spec.name) {
                continue;
            }
            linked.handlers.push(spec.name);
            linked.max_retries.push(spec.max_retries);
            for alias in spec.aliases.iter().filter(|alias| **alias != spec.name) {
                linked.aliases.push(alias);
                linked.alias_of.push(spec.name);
            }
        }
        linked
    }
}

/// The linked handlers of `event_type`. Allocates only for types not met before.
pub(crate) fn linked_for(event_type: &str) -> Arc<Linked> {
    static KNOWN: LazyLock<RwLock<HashMap<Box<str>, Arc<Linked>>>> = LazyLock::new(RwLock::default);
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(linked) = known.get(event_type) {
        return Arc::clone(linked);
    }
    drop(known);
    let linked = Arc::new(Linked::of(event_type, all()));
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() < REMEMBERED {
        known.insert(event_type.into(), Arc::clone(&linked));
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::Place;
    use crate::outcome::Outcome;

    fn spec(
        name: &'static str,
        patterns: &'static [&'static str],
        max_retries: Option<i32>,
        aliases: &'static [&'static str],
    ) -> &'static HandlerSpec {
        Box::leak(Box::new(HandlerSpec {
            name,
            aliases,
            patterns,
            event_max_retries: None,
            max_retries,
            backoff: None,
            initial_delay_ms: None,
            max_delay_ms: None,
            timeout_ms: None,
            place: Place {
                file: file!(),
                line: line!(),
            },
            needs: |_| (),
            call: |_| Box::pin(std::future::ready(Outcome::Done)),
        }))
    }

    #[test]
    fn handlers_are_chosen_by_the_rule_of_patterns() {
        let specs = [
            spec("audit", &["*"], None, &["log", "audit"]),
            spec("index", &["order.*"], Some(3), &[]),
            spec("mail", &["order.created", "order.paid"], None, &[]),
            spec("other", &["order.create"], None, &["x"]),
        ];
        let linked = Linked::of("order.created", &specs);
        assert_eq!(linked.handlers, ["audit", "index", "mail"]);
        assert_eq!(linked.max_retries, [None, Some(3), None]);
        assert_eq!(linked.aliases, ["log"]);
        assert_eq!(linked.alias_of, ["audit"]);
        assert_eq!(linked.candidates, ["order.created", "order.*", "*"]);
    }

    #[test]
    fn a_name_counts_once() {
        let specs = [
            spec("a", &["x"], Some(2), &[]),
            spec("a", &["*"], None, &[]),
        ];
        assert_eq!(Linked::of("x", &specs).handlers, ["a"]);
        assert_eq!(Linked::of("y", &specs).handlers, ["a"]);
    }

    #[test]
    fn what_is_remembered_is_shared() {
        assert!(Arc::ptr_eq(&linked_for("a.type"), &linked_for("a.type")));
        for number in 0..2 * REMEMBERED {
            let _ = linked_for(&format!("made.up.{number}"));
        }
        let beyond = format!("made.up.{}", 2 * REMEMBERED - 1);
        assert_eq!(linked_for(&beyond), linked_for(&beyond));
    }
}
