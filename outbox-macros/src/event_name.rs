//! Names that stand in the table: event types, patterns, handlers.

/// The longest name, in characters: what the columns hold.
const MAX_CHARS: usize = 255;

/// What is wrong with a name: the message's middle, and the name that was probably meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// As in "the event type … `found`".
    pub(crate) found: String,
    /// The name that was probably meant.
    pub(crate) meant: Option<String>,
}

/// The event type that a type's name stands for: split on case, in lower case, joined by dots.
///
/// A word begins at an upper-case letter that follows a lower-case letter or a digit, at the last
/// of several upper-case letters before a lower-case one, and after an underscore. Digits belong
/// to the word before them.
pub(crate) fn from_type_name(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let chars: Vec<char> = name.chars().collect();
    let mut event_type = String::new();
    let mut gap = false;
    for (at, &c) in chars.iter().enumerate() {
        if c == '_' {
            gap = true;
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let begins = c.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if (begins || gap) && !event_type.is_empty() {
            event_type.push('.');
        }
        gap = false;
        event_type.extend(c.to_lowercase());
    }
    event_type
}

/// Whether `event_type` can be an event's type.
pub(crate) fn check_event_type(event_type: &str) -> Result<(), Fault> {
    check(event_type)?;
    if event_type.contains('*') {
        return Err(Fault {
            found: format!("`{event_type:?}` contains `*`, which only patterns do"),
            meant: None,
        });
    }
    Ok(())
}

/// Whether `pattern` says which events a handler takes: a type, `prefix.*`, or `*`.
pub(crate) fn check_pattern(pattern: &str) -> Result<(), Fault> {
    check(pattern)?;
    let prefix = match pattern {
        "*" => return Ok(()),
        _ => pattern.strip_suffix(".*").unwrap_or(pattern),
    };
    if prefix.is_empty() || prefix.contains('*') {
        let words = prefix.split('*').next().unwrap_or_default();
        let words = words.trim_end_matches('.');
        return Err(Fault {
            found: format!(
                "`{pattern:?}` has a `*` that is not its last word; \
                 expected a type, `prefix.*`, or `*` alone"
            ),
            meant: Some(if words.is_empty() {
                "*".to_owned()
            } else {
                format!("{words}.*")
            }),
        });
    }
    Ok(())
}

/// Whether `name` can stand in the table: 1 to 255 characters, no white space at either end, no
/// control character.
pub(crate) fn check(name: &str) -> Result<(), Fault> {
    let trimmed = || {
        Some(name.trim())
            .filter(|meant| check(meant).is_ok())
            .map(str::to_owned)
    };
    let fault = |found: String, meant: Option<String>| Err(Fault { found, meant });
    if name.is_empty() {
        return fault(
            format!("is empty; expected 1 to {MAX_CHARS} characters"),
            None,
        );
    }
    if name.starts_with(char::is_whitespace) {
        return fault(format!("`{name:?}` begins with white space"), trimmed());
    }
    if name.ends_with(char::is_whitespace) {
        return fault(format!("`{name:?}` ends with white space"), trimmed());
    }
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        let control = control.escape_debug();
        return fault(
            format!("`{name:?}` contains the control character `{control}`"),
            None,
        );
    }
    let count = name.chars().count();
    if count > MAX_CHARS {
        return fault(
            format!("has {count} characters; expected 1 to {MAX_CHARS}"),
            None,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_split_on_case() {
        for (name, event_type) in [
            ("OrderCreated", "order.created"),
            ("HTTPRequestFailed", "http.request.failed"),
            ("RequestHTTP", "request.http"),
            ("Order", "order"),
            ("HTTP", "http"),
            ("A", "a"),
            ("ABTestEnded", "ab.test.ended"),
            ("OrderV2", "order.v2"),
            ("V2OrderCreated", "v2.order.created"),
            ("HTTP2Error", "http2.error"),
            ("Sha256Computed", "sha256.computed"),
            ("Order2x", "order2x"),
            ("Order_Created", "order.created"),
            ("Order__Created_", "order.created"),
            ("_Order", "order"),
            ("order_created", "order.created"),
            ("orderCreated", "order.created"),
            ("r#Order", "order"),
            ("r#type", "type"),
            ("ÜberweisungÄnderte", "überweisung.änderte"),
            ("注文", "注文"),
            ("__", ""),
        ] {
            assert_eq!(from_type_name(name), event_type, "{name}");
        }
    }

    #[test]
    fn e11_names_are_bounded_and_refused_not_trimmed() {
        let long = "é".repeat(255);
        for name in ["a", "order.created", "a b", "é", "e\u{301}", long.as_str()] {
            assert_eq!(check_event_type(name), Ok(()), "{name:?}");
        }
        for (name, meant) in [
            ("", None),
            (" ", None),
            (" a", Some("a")),
            ("a ", Some("a")),
            ("a\n", Some("a")),
            ("\u{a0}a", Some("a")),
            ("a\u{3000}", Some("a")),
            ("a\0b", None),
            ("a\u{7f}b", None),
            ("a\u{85}b", None),
            ("*", None),
            ("a.*", None),
        ] {
            let fault = check_event_type(name).expect_err(name);
            assert_eq!(fault.meant.as_deref(), meant, "{name:?}");
        }
        let fault = check(&"é".repeat(256)).expect_err("256 characters");
        assert_eq!(fault.found, "has 256 characters; expected 1 to 255");
    }

    #[test]
    fn patterns_have_a_star_as_their_last_word_only() {
        for pattern in ["*", "order.*", "order.line.*", "order.created"] {
            assert_eq!(check_pattern(pattern), Ok(()), "{pattern}");
        }
        for (pattern, meant) in [
            ("order*", "order.*"),
            ("order.*.created", "order.*"),
            ("*.created", "*"),
            ("**", "*"),
            (".*", "*"),
            ("order.**", "order.*"),
        ] {
            let fault = check_pattern(pattern).expect_err(pattern);
            assert_eq!(fault.meant.as_deref(), Some(meant), "{pattern}");
        }
    }
}
