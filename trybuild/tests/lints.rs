//! Under the strictest lints that a user may have, generated code is silent (L10). The lints that
//! only Clippy has are checked when Clippy runs over this file.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unused_qualifications,
    unreachable_pub,
    single_use_lifetimes,
    trivial_casts,
    unused_results,
    unit_bindings,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use outbox::{Context, EventId, OutboxEvent, RawEvent, State};

/// An event, with everything that a lint might say of its copy.
#[derive(Debug, Clone, OutboxEvent)]
#[outbox(max_retries = 8)]
#[serde(rename_all = "camelCase", default)]
#[allow(clippy::struct_excessive_bools, clippy::option_option)]
pub struct OrderCreated {
    /// Documented.
    pub order_id: u64,
    /// Documented.
    pub a: bool,
    /// Documented.
    pub b: bool,
    /// Documented.
    pub c: bool,
    /// Documented.
    pub d: bool,
    /// Documented.
    pub maybe: Option<Option<u8>>,
    /// Documented.
    #[serde(flatten)]
    pub more: BTreeMap<String, String>,
    private: Vec<u8>,
}

impl Default for OrderCreated {
    fn default() -> Self {
        Self {
            order_id: 1,
            a: true,
            b: true,
            c: true,
            d: true,
            maybe: None,
            more: BTreeMap::new(),
            private: Vec::new(),
        }
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, OutboxEvent)]
#[serde(tag = "kind")]
pub enum OrderChanged {
    /// Documented.
    Paid,
    /// Documented.
    Sent {
        /// Documented.
        at: u64,
    },
}

/// An event with serde's derives beside it.
#[derive(Debug, Clone, OutboxEvent, serde::Serialize, serde::Deserialize)]
#[outbox(serde = "own")]
pub struct Own(u8);

#[derive(Debug, OutboxEvent)]
struct Unit;

/// A handler without `.await`.
#[outbox::handler(event = "order.created", max_retries = 5, backoff = "fixed")]
pub async fn without_await(event: OrderCreated) {
    let _ = event.order_id;
}

/// A handler that looks at its event only.
///
/// # Errors
///
/// When the order is too large.
#[outbox::handler(event = "order.created", initial_delay = "1s", alias = ["former"])]
pub async fn reads(
    event: OrderCreated,
    State(limit): State<u64>,
    context: Context,
) -> Result<(), String> {
    tokio::task::yield_now().await;
    if event.order_id > limit {
        return Err(format!("attempt {}: too large", context.attempt()));
    }
    Ok(())
}

#[outbox::handler]
async fn ignores(_: OrderChanged) -> anyhow::Result<()> {
    Ok(())
}

#[outbox::handler]
async fn _underscored(_event: Own) {}

#[outbox::handler(event = "*")]
async fn raw(event: RawEvent) {
    let _ = event.json();
}

mod inner {
    #[outbox::handler]
    async fn in_a_module(event: super::Unit) {
        let super::Unit = event;
    }
}

#[tokio::test]
async fn everything_is_used() {
    /// An event of this function.
    #[derive(Debug, OutboxEvent)]
    struct Local {
        id: EventId,
    }

    #[outbox::handler]
    async fn in_a_body(event: Local) {
        let _ = event.id;
    }

    without_await(OrderCreated::default()).await;
    let json = OrderCreated::default().to_json().expect("encodes");
    let read = OrderCreated::from_json(&json).expect("decodes");
    assert!(read.private.is_empty());
    let changed = OrderChanged::Sent { at: 1 };
    let json = changed.to_json().expect("encodes");
    assert_eq!(OrderChanged::from_json(&json).expect("decodes"), changed);
    assert_eq!(Own::EVENT_TYPE, "own");
    assert_eq!(
        OrderChanged::Paid.to_json().expect("encodes"),
        r#"{"kind":"Paid"}"#
    );
}
