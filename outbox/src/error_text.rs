//! An error and its causes as one line of text.

use std::error::Error;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::stored_text::MAX_TEXT;

/// Chains longer than this are cut: a source that returns itself would never end.
const DEEPEST: usize = 64;

/// The error's text and those of its sources, joined by `: `. A source that its parent's text
/// already ends with is not said twice. Never panics, even where a `Display` does.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = display(error);
    // How the last cause said itself, which the next one is compared with.
    let mut last = text.clone();
    let mut next = source(error);
    for _ in 0..DEEPEST {
        let Some(cause) = next else { break };
        let said = display(cause);
        if !said.is_empty() && !last.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        last = said;
        next = source(cause);
    }
    text
}

/// A panic's message.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    match message {
        Some(message) => format!("the handler panicked: {message}"),
        None => "the handler panicked with a value that is no text".to_owned(),
    }
}

fn display(error: &(dyn Error + 'static)) -> String {
    let said = guarded(|| {
        let mut head = Head::default();
        let whole = write!(head, "{error}").is_ok();
        (whole || head.full).then_some(head.text)
    });
    said.flatten()
        .unwrap_or_else(|| "an error whose text can't be had, as its `Display` panics".to_owned())
}

/// The beginning of a text, as much of it as is kept anyway: what comes then is refused, so that a
/// `Display` without an end comes to one.
#[derive(Default)]
struct Head {
    text: String,
    full: bool,
}

impl Write for Head {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.full {
            return Err(fmt::Error);
        }
        let mut room = MAX_TEXT - self.text.len();
        if more.len() <= room {
            self.text.push_str(more);
            return Ok(());
        }
        while !more.is_char_boundary(room) {
            room -= 1;
        }
        self.text.push_str(&more[..room]);
        self.full = true;
        Err(fmt::Error)
    }
}

fn source<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    guarded(|| error.source()).flatten()
}

/// What `f` gives, or nothing when it panics.
pub(crate) fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Some(value),
        Err(payload) => {
            // A payload may itself panic when dropped, and is not worth a crash.
            std::mem::forget(payload);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            assert_ne!(self.0, "panic");
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    fn layers(texts: &[&'static str]) -> Layer {
        let (first, rest) = texts.split_first().expect("a layer");
        Layer(first, (!rest.is_empty()).then(|| Box::new(layers(rest))))
    }

    #[test]
    fn e13_each_layer_is_said_once() {
        assert_eq!(
            chain(&layers(&["mail", "smtp", "refused"])),
            "mail: smtp: refused"
        );
        assert_eq!(
            chain(&layers(&["mail: smtp", "smtp", "refused"])),
            "mail: smtp: refused"
        );
        assert_eq!(
            chain(&layers(&[
                "mail: smtp: refused",
                "smtp: refused",
                "refused"
            ])),
            "mail: smtp: refused"
        );
        assert_eq!(chain(&layers(&["mail", "", "refused"])), "mail: refused");
    }

    #[test]
    fn e13_anyhow_contexts_are_all_there() {
        let error = anyhow::anyhow!("refused").context("smtp").context("mail");
        let boxed: Box<dyn Error + Send + Sync> = error.into();
        assert_eq!(chain(boxed.as_ref()), "mail: smtp: refused");
    }

    #[test]
    fn e1_a_display_that_panics_is_no_panic() {
        let text = chain(&layers(&["mail", "panic", "refused"]));
        assert!(
            text.starts_with("mail: ") && text.ends_with(": refused"),
            "{text}"
        );
    }
}
