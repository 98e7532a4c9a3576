//! A handler's parameters after the event.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::ops::Deref;

use sqlx::PgPool;

use crate::context::Context;
use crate::handler::Call;
use crate::outcome::Failure;

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

/// A state that a handler needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
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
        needs.push(Need {
            type_id: TypeId::of::<T>(),
            type_name: type_name::<T>(),
        });
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

/// The states of a runtime, one per type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl States {
    /// Whether `T` was new.
    pub(crate) fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(value)).is_none()
    }

    pub(crate) fn has(&self, need: Need) -> bool {
        self.0.contains_key(&need.type_id)
    }

    fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0
            .get(&TypeId::of::<T>())
            .and_then(|value| value.downcast_ref())
            .cloned()
    }
}

impl std::fmt::Debug for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("States").field(&self.0.len()).finish()
    }
}
