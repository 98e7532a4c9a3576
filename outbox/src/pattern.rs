//! Event types and the patterns that select them.

/// The longest event type, pattern or identifier, in characters.
pub(crate) const MAX_CHARS: usize = 255;

/// What is wrong with a name or an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// It has no characters.
    #[error("it is empty")]
    Empty,
    /// It begins or ends with white space, which is refused instead of trimmed.
    #[error("it begins or ends with white space")]
    WhiteSpace,
    /// It is longer than 255 characters.
    #[error("it has {0} characters; at most {MAX_CHARS} are allowed")]
    TooLong(usize),
    /// It holds U+0000, which PostgreSQL does not store.
    #[error("it contains a NUL character, which PostgreSQL does not store")]
    Nul,
    /// It holds a `*`, which only patterns have.
    #[error("it contains `*`, which only patterns have")]
    Star,
}

/// Whether `text` can be an identifier: a tenant, a correlation id, …
pub(crate) fn check_id(text: &str) -> Result<(), NameFault> {
    if text.is_empty() {
        return Err(NameFault::Empty);
    }
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return Err(NameFault::WhiteSpace);
    }
    // No text of up to 255 bytes has more characters than that.
    if text.len() > MAX_CHARS {
        let characters = text.chars().count();
        if characters > MAX_CHARS {
            return Err(NameFault::TooLong(characters));
        }
    }
    if text.contains('\0') {
        return Err(NameFault::Nul);
    }
    Ok(())
}

/// Whether `text` can be an event type.
pub(crate) fn check_event_type(text: &str) -> Result<(), NameFault> {
    check_id(text)?;
    if text.contains('*') {
        return Err(NameFault::Star);
    }
    Ok(())
}

/// The patterns that select `event_type`: itself, each prefix that ends before a dot with `.*`
/// behind it, the longest first, and `*`.
pub(crate) fn candidates(event_type: &str) -> Vec<String> {
    let prefixes = event_type.rmatch_indices('.').map(|(dot, _)| dot);
    std::iter::once(event_type.to_owned())
        .chain(prefixes.map(|dot| format!("{}.*", &event_type[..dot])))
        .chain(std::iter::once("*".to_owned()))
        .collect()
}

/// Whether `pattern` selects `event_type`: the same rule as [`candidates`], without allocation.
pub(crate) fn selects(pattern: &str, event_type: &str) -> bool {
    pattern == event_type
        || pattern == "*"
        || pattern
            .strip_suffix('*')
            .is_some_and(|prefix| prefix.ends_with('.') && event_type.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_go_from_the_type_to_everything() {
        assert_eq!(
            candidates("a.b.c"),
            ["a.b.c", "a.b.*", "a.*", "*"].map(str::to_owned)
        );
        assert_eq!(candidates("order"), ["order", "*"].map(str::to_owned));
        assert_eq!(
            candidates(".a..b."),
            [".a..b.", ".a..b.*", ".a..*", ".a.*", ".*", "*"].map(str::to_owned)
        );
    }

    #[test]
    fn both_forms_of_the_rule_agree() {
        let types = ["a", "a.b", "a.b.c", "ab", "ab.c", "a..b", ".a", "é.ü"];
        let patterns = [
            "a", "a.b", "a.*", "a.b.*", "ab.*", "*", ".*", "a..*", "b.*", "a*", "é.*", "",
        ];
        for event_type in types {
            let candidates = candidates(event_type);
            for pattern in patterns {
                assert_eq!(
                    selects(pattern, event_type),
                    candidates.iter().any(|candidate| candidate == pattern),
                    "{pattern} {event_type}"
                );
            }
        }
    }

    #[test]
    fn e11_event_types_are_refused_and_never_trimmed() {
        for good in ["a", "é", "e\u{301}", "a b", &"é".repeat(255)] {
            assert_eq!(check_event_type(good), Ok(()), "{good}");
        }
        for (bad, fault) in [
            ("", NameFault::Empty),
            (" a ", NameFault::WhiteSpace),
            ("a\n", NameFault::WhiteSpace),
            ("\u{a0}a", NameFault::WhiteSpace),
            ("a\u{3000}", NameFault::WhiteSpace),
            ("a.*", NameFault::Star),
            ("*", NameFault::Star),
            ("a\0b", NameFault::Nul),
            (&"é".repeat(256), NameFault::TooLong(256)),
        ] {
            assert_eq!(check_event_type(bad), Err(fault), "{bad}");
        }
    }
}
