//! How far a claim has come in the order of its index.

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// A place in the order by `(next_attempt_at, id)`. A claim looks behind it: what lies before was
/// claimed already, and its dead index entries are not walked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) at: DateTime<Utc>,
    pub(crate) id: Uuid,
}

impl Position {
    /// After everything that the table can hold.
    pub(crate) const END: Self = Self {
        at: far(253_402_300_799),
        id: Uuid::max(),
    };

    /// Everything due at `now` was seen.
    pub(crate) fn seen_all(now: DateTime<Utc>) -> Self {
        Self {
            at: now,
            id: Uuid::max(),
        }
    }
}

impl Default for Position {
    /// Before everything that the table can hold: a second before the year 1, as a claim looks
    /// behind its position and the first row may have the first of all ids.
    fn default() -> Self {
        Self {
            at: far(-62_135_596_801),
            id: Uuid::nil(),
        }
    }
}

const fn far(seconds: i64) -> DateTime<Utc> {
    match DateTime::from_timestamp(seconds, 0) {
        Some(at) => at,
        None => DateTime::UNIX_EPOCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_table() {
        let first = Position {
            at: "0001-01-01T00:00:00Z".parse().unwrap_or_default(),
            id: Uuid::nil(),
        };
        assert!(Position::default() < first);
        assert_eq!(Position::END.at.to_rfc3339(), "9999-12-31T23:59:59+00:00");
    }
}
