//! The names of notification channels.

/// The channel that emit notifies and a runtime listens on when nobody names another.
pub(crate) const DEFAULT_CHANNEL: &str = "outbox_events";

/// The longest name that PostgreSQL keeps whole.
const MAX_BYTES: usize = 63;

/// Why a text is no channel name: `[a-z_][a-z0-9_$]*`, at most 63 bytes.
///
/// Narrower than what PostgreSQL takes, so that `LISTEN name` and `pg_notify('name', …)` mean the
/// same channel whether or not the name is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// Nothing is there.
    #[error("a channel needs a name, such as `{DEFAULT_CHANNEL}`")]
    Empty,
    /// PostgreSQL would cut it, and two channels could become one.
    #[error("the channel's name has {0} bytes; at most {MAX_BYTES} are allowed")]
    TooLong(usize),
    /// `LISTEN` without quotes would mean the name in lower case.
    #[error("the channel's name `{name}` has the upper-case letter `{letter}`; write it in lower case", name = .0, letter = .1)]
    UpperCase(String, char),
    /// It begins with a digit or `$`.
    #[error("the channel's name `{0}` begins with a digit or `$`; begin it with a letter or `_`")]
    BadStart(String),
    /// A quote, a space, a letter with an accent, …
    #[error("the channel's name {name:?} has the character {character:?}; expected `a` to `z`, `0` to `9`, `_` or `$`", name = .0, character = .1)]
    BadCharacter(String, char),
}

/// Whether `name` can be a channel.
pub(crate) fn check_channel(name: &str) -> Result<(), ChannelError> {
    if name.is_empty() {
        return Err(ChannelError::Empty);
    }
    if name.len() > MAX_BYTES {
        return Err(ChannelError::TooLong(name.len()));
    }
    for character in name.chars() {
        match character {
            'a'..='z' | '0'..='9' | '_' | '$' => {}
            'A'..='Z' => return Err(ChannelError::UpperCase(name.to_owned(), character)),
            _ => return Err(ChannelError::BadCharacter(name.to_owned(), character)),
        }
    }
    if name.starts_with(|first: char| first.is_ascii_digit() || first == '$') {
        return Err(ChannelError::BadStart(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h9_names_that_listen_and_notify_agree_on_pass() {
        for name in ["outbox_events", "a", "_", "_9$", &"x".repeat(63)] {
            assert_eq!(check_channel(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn h9_what_is_wrong_is_named() {
        use ChannelError::{BadCharacter, BadStart, Empty, TooLong, UpperCase};
        let named = |name: &str| name.to_owned();
        assert_eq!(check_channel(""), Err(Empty));
        assert_eq!(check_channel(&"x".repeat(64)), Err(TooLong(64)));
        assert_eq!(check_channel("Jobs"), Err(UpperCase(named("Jobs"), 'J')));
        assert_eq!(check_channel("9jobs"), Err(BadStart(named("9jobs"))));
        assert_eq!(check_channel("$jobs"), Err(BadStart(named("$jobs"))));
        for (name, character) in [
            ("a\"b", '"'),
            ("a'b", '\''),
            ("a b", ' '),
            ("é", 'é'),
            ("a\0", '\0'),
        ] {
            assert_eq!(
                check_channel(name),
                Err(BadCharacter(named(name), character))
            );
        }
    }
}
