//! Waiting out a database that does not answer.

use std::error::Error;
use std::time::Duration;

use crate::error_text::chain;
use crate::session::refuses_data;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// One loop's failures in a row: the wait grows with them, and each is logged once.
#[derive(Debug)]
pub(crate) struct Outage {
    doing: &'static str,
    failures: u32,
}

impl Outage {
    /// None so far, for a loop that is `doing` something.
    pub(crate) fn none(doing: &'static str) -> Self {
        Self { doing, failures: 0 }
    }

    /// It failed again: how long to wait. Between half and the whole of the step, so that runtimes
    /// which lost their server together don't come back together.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        let step = LONGEST.min(FIRST * 2_u32.saturating_pow(self.failures.min(16)));
        let wait = step.mul_f64(1.0 - fastrand::f64() / 2.0);
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(
            error = text(error),
            failures = self.failures,
            retry_in_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            "outbox: {} failed, trying again",
            self.doing,
        );
        wait
    }

    /// It worked.
    pub(crate) fn over(&mut self) {
        if self.failures > 0 {
            tracing::info!("outbox: {} works again", self.doing);
            self.failures = 0;
        }
    }
}

/// What a log may say. A server that refuses data quotes it, and a trigger says what it likes: of
/// those only the code, and the whole at debug.
fn text(error: &(dyn Error + 'static)) -> String {
    let whole = chain(error);
    let refused = error
        .downcast_ref::<sqlx::Error>()
        .filter(|error| refuses_data(error));
    let code = refused.and_then(|error| error.as_database_error()?.code());
    match code {
        Some(code) => {
            tracing::debug!(error = whole, "outbox: the server refused data");
            format!("the server refused the data, SQLSTATE {code}")
        }
        None => whole,
    }
}
