//! One call of a handler, and what its parameters are taken from.

use std::sync::Arc;

use sqlx::PgPool;

use crate::context::{Context, Signals};
use crate::decode::DecodeError;
use crate::outcome::Failure;
use crate::record::Claimed;
use crate::states::States;

/// One attempt on its way into a handler.
#[derive(Debug)]
pub struct Call {
    record: Arc<Claimed>,
    signals: Signals,
    surroundings: Arc<Surroundings>,
}

/// What all calls of a runtime share.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) pool: PgPool,
    pub(crate) states: States,
}

impl Call {
    pub(crate) fn new(
        record: Arc<Claimed>,
        signals: Signals,
        surroundings: Arc<Surroundings>,
    ) -> Self {
        Self {
            record,
            signals,
            surroundings,
        }
    }

    /// The event, read from the payload by its type's `OutboxEvent::receive`.
    ///
    /// Free of a bound: the caller names the trait where it takes the function from it.
    ///
    /// # Errors
    ///
    /// When the payload doesn't fit the type.
    pub fn event_by<E>(
        &self,
        receive: fn(&str, &str) -> Result<E, DecodeError>,
    ) -> Result<E, Failure> {
        receive(&self.record.event_type, &self.record.payload).map_err(Failure::from)
    }

    pub(crate) fn context(&self) -> Context {
        Context::new(Arc::clone(&self.record), self.signals.clone())
    }

    pub(crate) fn states(&self) -> &States {
        &self.surroundings.states
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.surroundings.pool
    }
}
