//! What one attempt came to.

use std::any::type_name;
use std::error::Error;

/// An attempt's result.
#[derive(Debug)]
pub enum Outcome {
    /// The handler did its work.
    Done,
    /// The handler failed; the retry rule applies.
    Failed(Failure),
}

/// A handler's error, kept as the error it was, with the name of its type for the log.
///
/// Everything that converts into a boxed error converts into it, so `?` works on all of them.
#[derive(Debug)]
pub struct Failure {
    pub(crate) error: Box<dyn Error + Send + Sync>,
    pub(crate) type_name: &'static str,
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            type_name: type_name::<E>(),
        }
    }
}

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a handler can't return `{Self}`; expected `()` or `Result<(), E>` with an error that converts into `Box<dyn std::error::Error + Send + Sync>`",
    label = "not a handler's result",
    note = "help: write `-> Result<(), anyhow::Error>`, or implement `std::error::Error` for the error type"
)]
pub trait IntoOutcome {
    /// This result as an outcome.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Done
    }
}

// What doesn't convert is reported as the result that it is, not by way of `Failure`.
#[diagnostic::do_not_recommend]
impl<E: Into<Failure>> IntoOutcome for Result<(), E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Failed(error.into()),
        }
    }
}
