//! A handler's parameters after the event.

use std::any::type_name;
use std::ops::Deref;

use sqlx::PgPool;

use crate::call::Call;
use crate::context::Context;
use crate::outcome::Failure;
use crate::states::Need;

/// What a handler can take after the event.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a handler's parameter; expected one of `outbox::Context`, `outbox::State<T>`, `sqlx::PgPool`",
    label = "not a handler's parameter",
    note = "help: hand shared values over with `outbox::start(pool).state(value)` and take `State<T>`"
)]
pub trait Extract: Sized {
    /// The parameter, for one attempt.
    ///
    /// # Errors
    ///
    /// When the runtime doesn't have it, which `start` has ruled out.
    fn extract(call: &Call) -> Result<Self, Failure>;

    /// Notes what `start` must have been given.
    fn needs(needs: &mut Vec<Need>) {
        let _ = needs;
    }
}

/// Shared state that `start(pool).state(value)` was given: a client, a configuration, an
/// `Arc<…>`. Each attempt gets a clone.
///
/// ```
/// # use outbox::{OutboxEvent, State};
/// # #[derive(OutboxEvent)]
/// # struct OrderCreated { order_id: u64 }
/// #[derive(Clone)]
/// struct Mailer { sender: String }
///
/// #[outbox::handler(event = "order.created")]
/// async fn send_confirmation(event: OrderCreated, State(mailer): State<Mailer>) {
///     println!("mail about order {} from {}", event.order_id, mailer.sender);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> Extract for State<T> {
    fn extract(call: &Call) -> Result<Self, Failure> {
        call.states().get::<T>().map(State).ok_or_else(|| {
            format!("`start` was given no state of type `{}`", type_name::<T>()).into()
        })
    }

    fn needs(needs: &mut Vec<Need>) {
        needs.push(Need::of::<T>());
    }
}

impl Extract for Context {
    fn extract(call: &Call) -> Result<Self, Failure> {
        Ok(call.context())
    }
}

impl Extract for PgPool {
    fn extract(call: &Call) -> Result<Self, Failure> {
        Ok(call.pool().clone())
    }
}
