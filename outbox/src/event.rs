//! The event: a type name and a JSON payload.

use serde_json::Value;

use crate::decode::{DecodeError, decode};
use crate::encode::EncodeError;

/// A fact that the service tells the world: a type name and a JSON payload.
///
/// Derive it; an implementation by hand is for types whose JSON is made elsewhere.
///
/// ```
/// use outbox::OutboxEvent;
///
/// #[derive(OutboxEvent)]
/// struct OrderCreated {
///     order_id: u64,
///     total_cents: i64,
/// }
///
/// assert_eq!(OrderCreated::EVENT_TYPE, "order.created");
/// let json = OrderCreated { order_id: 7, total_cents: 1_250 }.to_json()?;
/// assert_eq!(json, r#"{"order_id":7,"total_cents":1250}"#);
/// assert_eq!(OrderCreated::from_json(&json)?.total_cents, 1_250);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "help: write `#[derive(outbox::OutboxEvent)]` on the type, or take `outbox::RawEvent`"
)]
pub trait OutboxEvent: Send + Sync + Sized + 'static {
    /// The event's type name, such as `order.created`: 1 to 255 characters, no white space at
    /// either end, no `*`.
    const EVENT_TYPE: &'static str;

    /// How many attempts a record of this event gets when neither the emit call, nor the handler,
    /// nor the subscription says so. `None`: the emitter's setting, else 5.
    const MAX_RETRIES: Option<i32> = None;

    /// The payload as JSON text.
    ///
    /// # Errors
    ///
    /// When the value has no exact JSON form: a number that is not finite, a map key that is no
    /// string or number, more than 127 levels of nesting, an error of the type's own serializer.
    fn to_json(&self) -> Result<String, EncodeError>;

    /// The event read back from JSON text.
    ///
    /// # Errors
    ///
    /// When the text does not fit the type; the error names the type and the path.
    fn from_json(json: &str) -> Result<Self, DecodeError>;

    /// The type name of this very value: the constant, but for types that carry it themselves.
    #[doc(hidden)]
    fn event_type(&self) -> &str {
        Self::EVENT_TYPE
    }

    /// What a handler receives: the payload, and the type name for who wants to know it.
    #[doc(hidden)]
    fn receive(event_type: &str, json: &str) -> Result<Self, DecodeError> {
        let _ = event_type;
        Self::from_json(json)
    }
}

/// An event of any type, as its JSON text: for handlers that pass events on without knowing their
/// types, and for emitting an event whose type is known at run time only.
///
/// ```
/// use outbox::RawEvent;
///
/// #[outbox::handler(event = "order.created")]
/// async fn index_order(event: RawEvent) -> Result<(), outbox::serde_json::Error> {
///     println!("{} {}", event.event_type(), event.value()?["order_id"]);
///     Ok(())
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RawEvent {
    event_type: String,
    json: String,
}

impl RawEvent {
    /// An event of the type `event_type` with `payload`; the name is checked when it is emitted.
    #[must_use]
    pub fn new(event_type: impl Into<String>, payload: &Value) -> Self {
        Self {
            event_type: event_type.into(),
            json: payload.to_string(),
        }
    }

    /// An event of the type `event_type` with a payload that is JSON text already. Text that is no
    /// JSON is refused when the event is emitted.
    #[must_use]
    pub fn from_text(event_type: impl Into<String>, json: impl Into<String>) -> Self {
        Self {
            event_type: event_type.into(),
            json: json.into(),
        }
    }

    /// The type name, such as `order.created`.
    #[must_use]
    pub fn event_type(&self) -> &str {
        &self.event_type
    }

    /// The payload as JSON text, as PostgreSQL's `jsonb` writes it.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The payload as a JSON value.
    ///
    /// # Errors
    ///
    /// When a number of the payload does not fit a [`Value`].
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.json)
    }

    /// The payload as a type of yours.
    ///
    /// # Errors
    ///
    /// When the payload does not fit the type; the error names the type and the path.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(&self.json)
    }
}

impl std::fmt::Debug for RawEvent {
    /// Names the type only: payloads don't reach logs by accident.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawEvent")
            .field("event_type", &self.event_type)
            .finish_non_exhaustive()
    }
}

impl OutboxEvent for RawEvent {
    /// Stands for any type.
    const EVENT_TYPE: &'static str = "*";

    fn to_json(&self) -> Result<String, EncodeError> {
        Ok(self.json.clone())
    }

    fn from_json(json: &str) -> Result<Self, DecodeError> {
        Self::receive(Self::EVENT_TYPE, json)
    }

    fn event_type(&self) -> &str {
        &self.event_type
    }

    fn receive(event_type: &str, json: &str) -> Result<Self, DecodeError> {
        Ok(Self::from_text(event_type, json))
    }
}
