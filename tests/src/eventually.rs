//! Waiting for what happens in its own time.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::panic::Location;
use std::time::{Duration, Instant};

/// What a probe returns: whether it has seen what it looks for, and the value it saw.
pub trait Seen {
    /// What was seen.
    type Value;

    /// The value, or why not yet, where there is more to say.
    ///
    /// # Errors
    ///
    /// When the condition does not hold yet.
    fn seen(self) -> Result<Self::Value, Option<String>>;
}

impl Seen for bool {
    type Value = ();

    fn seen(self) -> Result<(), Option<String>> {
        self.then_some(()).ok_or(None)
    }
}

impl<T> Seen for Option<T> {
    type Value = T;

    fn seen(self) -> Result<T, Option<String>> {
        self.ok_or(None)
    }
}

impl<T: Any, E: Debug> Seen for Result<T, E> {
    type Value = T;

    fn seen(self) -> Result<T, Option<String>> {
        match self {
            // A query that answers "no" has not seen it.
            Ok(value) if (&value as &dyn Any).downcast_ref() == Some(&false) => Err(None),
            Ok(value) => Ok(value),
            Err(error) => Err(Some(format!("{error:?}"))),
        }
    }
}

/// Runs `probe` until it sees (`true`, `Some`, `Ok`) what `description` says, for up to 30 s.
///
/// A test that waits for something to happen waits here, with a deadline so generous that a busy
/// machine does not miss it; a test of *when* it happens compares times that PostgreSQL wrote.
#[track_caller]
pub fn eventually<S: Seen>(
    description: impl Display,
    probe: impl AsyncFnMut() -> S,
) -> impl Future<Output = S::Value> {
    eventually_within(Duration::from_secs(30), description, probe)
}

/// As [`eventually`], with a deadline of its own.
#[track_caller]
pub fn eventually_within<S: Seen>(
    deadline: Duration,
    description: impl Display,
    mut probe: impl AsyncFnMut() -> S,
) -> impl Future<Output = S::Value> {
    let place = Location::caller();
    async move {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(5);
        loop {
            // Before the probe, so that one begins after the deadline.
            let late = begin.elapsed() >= deadline;
            let why = match probe().await.seen() {
                Ok(value) => return value,
                Err(why) => why.map(|why| format!(": {why}")).unwrap_or_default(),
            };
            assert!(!late, "{place}: not after {deadline:?}: {description}{why}");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}
