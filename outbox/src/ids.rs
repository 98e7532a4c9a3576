//! The two identifiers of a row, as types that can't be mixed up.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(Uuid);

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

id! {
    /// Identifies an event for ever; all records of one event share it. The key for making a
    /// handler idempotent.
    EventId
}

id! {
    /// Identifies a row of `outbox_events`: one event on its way to one handler.
    RecordId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_as_text_and_json() {
        let uuid = Uuid::now_v7();
        let id = EventId::from(uuid);
        assert_eq!(id.to_string().parse::<EventId>().ok(), Some(id));
        assert_eq!(Uuid::from(id), uuid);
        let json = serde_json::to_string(&id).expect("a uuid serializes");
        assert_eq!(json, format!("\"{uuid}\""));
        assert_eq!(serde_json::from_str::<EventId>(&json).ok(), Some(id));
    }
}
