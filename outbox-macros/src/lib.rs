//! The macros of the `outbox` crate: use them through it.
//!
//! Each of the two reads what it was given, checks it, and writes code that names everything by
//! the path of the runtime crate. All faults of an item are reported together, each on the token
//! to change; the item itself stays as it was written, so that one fault gives one error.

mod args;
mod duration;
mod event;
mod event_name;
mod faults;
mod handler;
mod paths;
mod wording;

use proc_macro::TokenStream;

/// Registers an `async fn` as a handler: `outbox::start` runs it for every event of its type.
///
/// ```
/// use outbox::{Context, OutboxEvent, State};
///
/// #[derive(OutboxEvent)]
/// struct OrderCreated {
///     order_id: u64,
/// }
///
/// #[derive(Clone)]
/// struct Mailer;
///
/// #[outbox::handler(event = "order.created", max_retries = 5, backoff = "fixed")]
/// async fn send_confirmation(
///     event: OrderCreated,
///     context: Context,
///     mailer: State<Mailer>,
/// ) -> Result<(), std::io::Error> {
///     println!("order {}, attempt {}", event.order_id, context.attempt());
///     Ok(())
/// }
/// ```
///
/// # Arguments of the attribute
///
/// All may be left out.
///
/// | argument | meaning | when left out |
/// | --- | --- | --- |
/// | `event = "order.created"` | the event type; must be the one of the first parameter's type | the first parameter's type says it |
/// | `max_retries = 5` | attempts in all before the record is FAILED, 1 to 2147483647 | see [retries](#retries) |
/// | `backoff = "fixed"` or `"exponential"` | whether the delay stays or doubles | the runtime's setting, else exponential |
/// | `initial_delay = "250ms"` | the delay after the first failed attempt | the runtime's setting, else 1 s |
/// | `max_delay = "1h"` | the cap of an exponential delay; not less than `initial_delay` | the runtime's setting, else 24 h |
/// | `timeout = "30s"` | an attempt that takes longer has failed; at least 1 ms | no limit |
/// | `name = "send_confirmation"` | the handler's name on its records, unique in the binary | the function's name |
/// | `alias = "former_name"` or `alias = ["a", "b"]` | former names, whose records and subscriptions it goes on serving | none |
/// | `crate = "outbox"` | the path of the `outbox` crate, where it is renamed or re-exported | `::outbox` |
///
/// Durations are `"250ms"`, `"30s"`, `"5m"`, `"1h"`, or an integer of milliseconds; at most
/// 2147483647 ms, about 24 days. Names have 1 to 255 characters, no white space at either end, no
/// control characters.
///
/// The name stands on every record: after renaming the function, give the former name as `alias`,
/// or what is still pending under it waits for ever.
///
/// # Parameters
///
/// First the event, by value, by any pattern. Its type derives `OutboxEvent`, or is
/// `outbox::RawEvent`, the JSON of any event; then `event` must be given, and may be a pattern:
/// `"order.*"` for every type that begins with `order.`, `"*"` for all.
///
/// Then, in any number and order:
///
/// | type | value |
/// | --- | --- |
/// | `outbox::Context` | the attempt: ids, number, times, headers, the signal to stop |
/// | `outbox::State<T>` | a clone of what `start(pool).state(value)` was given |
/// | `outbox::sqlx::PgPool` | the pool that `start` was given |
///
/// # Result
///
/// `()`, or `Result<(), E>` with an error that converts into a boxed `std::error::Error`:
/// `anyhow::Error`, `String`, an enum of one's own that implements `Error`. An `Err`, a panic, a
/// timeout and a payload that does not fit the type are failed attempts; the retry rule applies.
/// The function's future must be [`Send`].
///
/// # Retries
///
/// A record's number of attempts is fixed when it is emitted, from the first of: the emit call,
/// this attribute (from the handler's subscription, where the emitting binary does not link it), the
/// event's attribute, the emitter's setting, 5.
///
/// # What is generated
///
/// The function stays as it is, other attributes included, and can be called as before. Beside it
/// stands one constant that registers it; `#[cfg]` on the function holds for both. It must be a
/// free function, not generic, in a module or in a function's body.
#[proc_macro_attribute]
pub fn handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handler::expand(arguments.into(), item.into()).into()
}

/// Makes a struct or an enum an event: a type name, and JSON both ways.
///
/// ```
/// use outbox::OutboxEvent;
///
/// #[derive(OutboxEvent)]
/// #[outbox(max_retries = 8)]
/// #[serde(rename_all = "camelCase")]
/// struct OrderCreated {
///     order_id: u64,
///     #[serde(default)]
///     note: Option<String>,
/// }
///
/// assert_eq!(OrderCreated::EVENT_TYPE, "order.created");
/// let event = OrderCreated::from_json(r#"{"orderId":7}"#)?;
/// assert_eq!(event.to_json()?, r#"{"orderId":7,"note":null}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Arguments of `#[outbox(…)]`
///
/// | argument | meaning | when left out |
/// | --- | --- | --- |
/// | `event = "order.created"` | the event type: 1 to 255 characters, no white space at either end, no control characters, no `*` | the type's name, see below |
/// | `max_retries = 8` | attempts in all, 1 to 2147483647, for handlers that don't say | the emitter's setting, else 5 |
/// | `serde = "own"` | take the type's own `Serialize` and `Deserialize` | they are generated for the event alone |
/// | `crate = "outbox"` | the path of the `outbox` crate, where it is renamed or re-exported | `::outbox` |
///
/// The type's name becomes an event type by splitting it on case, in lower case, joined by dots:
/// `OrderCreated` is `order.created`, `HTTPRequestFailed` is `http.request.failed`. Digits belong
/// to the word before them: `OrderV2Created` is `order.v2.created`.
///
/// # Serialization
///
/// It is serde's own, and every `#[serde(…)]` attribute works, but for `remote`. It needs no
/// `Serialize` or `Deserialize` on the type and gives it none; derived beside it, they don't
/// disturb it. The types of the fields need them as always: so does the event itself where it
/// contains itself, as in a tree.
///
/// Generic types can't be events; wrap them in a type of their own.
#[proc_macro_derive(OutboxEvent, attributes(outbox, serde))]
pub fn outbox_event(item: TokenStream) -> TokenStream {
    event::expand(item.into()).into()
}
