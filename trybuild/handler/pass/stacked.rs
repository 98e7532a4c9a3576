//! Other attributes stay, above and below (L5).

#![deny(warnings)]

use outbox::OutboxEvent;

#[derive(OutboxEvent, Debug)]
struct OrderCreated;

/// Documented.
#[tracing::instrument]
#[outbox::handler]
async fn instrumented_above(event: OrderCreated) {
    let _ = event;
}

#[outbox::handler]
/// Documented.
#[tracing::instrument(skip_all)]
async fn instrumented_below(event: OrderCreated) -> Result<(), String> {
    let _ = event;
    Ok(())
}

#[deprecated = "use the other one"]
#[outbox::handler(event = "order.created")]
async fn deprecated_above(_: OrderCreated) {}

#[outbox::handler(event = "order.created")]
#[deprecated]
async fn deprecated_below(_: OrderCreated) {}

#[cfg(any())]
#[outbox::handler]
async fn absent_above(_: Missing) {}

#[outbox::handler]
#[cfg(any())]
async fn absent_below(_: Missing) {}

#[outbox::handler]
#[cfg_attr(all(), cfg(any()), inline)]
async fn absent_by_attribute(_: Missing) {}

#[outbox::handler]
#[cfg(all())]
#[cfg_attr(all(), cfg(all()))]
#[inline]
async fn present(#[allow(unused_variables)] event: OrderCreated) {}

#[derive(OutboxEvent)]
#[deprecated]
struct OldEvent;

#[outbox::handler]
#[allow(deprecated)]
async fn of_a_deprecated_event(_: OldEvent) {}

fn main() {
    let specs = outbox::__private::inventory::iter::<outbox::__private::HandlerSpec>;
    let mut names: Vec<&str> = specs.into_iter().map(|spec| spec.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "deprecated_above",
            "deprecated_below",
            "instrumented_above",
            "instrumented_below",
            "of_a_deprecated_event",
            "present",
        ]
    );
}
