//! Starting a runtime: everything is checked first, and every problem reported at once.

mod check;
mod problem;
mod spawn;

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use sqlx::PgPool;

pub use self::problem::{StartError, StartProblem};
use crate::emit::default::disagrees;
use crate::options::{Lease, Options};
use crate::retry::Retry;
use crate::runtime::Outbox;
use crate::session::Sessions;
use crate::states::States;

/// Claims and settles go side by side.
const CONNECTIONS: u32 = 2;

/// The longest that a statement of the runtime may take before its connection is given up.
const STATEMENT_LIMIT: Duration = Duration::from_secs(30);

/// Starts the outbox on `pool`: a builder that is awaited.
///
/// All handlers of this binary are run, unless [`only`](Start::only) or [`except`](Start::except)
/// says otherwise. Once per pool is enough; each call is a runtime of its own. It keeps running
/// when the [`Outbox`] is dropped, and holds none of the pool's connections: it opens up to four of
/// its own, made as the pool makes its.
///
/// ```no_run
/// use std::time::Duration;
/// use outbox::Retry;
///
/// # async fn run(pool: outbox::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let outbox = outbox::start(pool)
///     .concurrency(16)
///     .retry(Retry::default().initial_delay(Duration::from_millis(250)))
///     .state(String::from("shared with handlers as State<String>"))
///     .await?;
/// outbox.shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`StartError`] with everything that is wrong: options, missing states, duplicate names, the
/// schema, a database that can't be reached.
///
/// # Cancel safety
///
/// Dropping the future before it is done starts nothing; subscriptions may have been written.
pub fn start(pool: PgPool) -> Start {
    Start {
        pool,
        options: Options::default(),
        states: States::default(),
        two_states: Vec::new(),
        only: None,
        except: Vec::new(),
    }
}

/// The settings of a runtime that is about to start: see [`start`].
#[derive(Debug)]
#[must_use = "nothing starts until this is awaited"]
pub struct Start {
    pool: PgPool,
    options: Options,
    states: States,
    two_states: Vec<&'static str>,
    only: Option<Vec<String>>,
    except: Vec<String>,
}

impl Start {
    /// How often the table is looked at when no notification comes. Default 1 s; 1 ms to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.options.poll_interval = interval;
        self
    }

    /// Rows per claim, at most. Default 500; 1 to 10,000.
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.options.batch_size = rows;
        self
    }

    /// Handlers that run at once, at most. Default 64; 1 to 10,000.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.options.concurrency = handlers;
        self
    }

    /// Retries of handlers that don't set their own. An explicit `max_retries` is also the default
    /// of [`emit`](crate::emit) while this runtime runs.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.options.retry = retry;
        self
    }

    /// How long claims hold and how they are kept.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.options.lease = lease;
        self
    }

    /// How many leases in a row a record may lose before it is FAILED: the process that runs its
    /// handler dies or hangs. Default 10; 1 to 2,147,483,647; `None` only requeues.
    ///
    /// ```no_run
    /// # async fn run(pool: outbox::sqlx::PgPool) -> Result<(), outbox::StartError> {
    /// outbox::start(pool.clone()).max_recoveries(3).await?;
    /// outbox::start(pool.clone()).max_recoveries(Some(3)).await?;
    /// outbox::start(pool).max_recoveries(None).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_recoveries(mut self, leases: impl Into<Option<i32>>) -> Self {
        self.options.max_recoveries = leases.into();
        self
    }

    /// How long running handlers may go on after shutdown began. Default 30 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.options.shutdown_timeout = timeout;
        self
    }

    /// How long a handler may go on after its claim was lost. Default 1 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.options.cancel_grace = grace;
        self
    }

    /// How long to wait for a connection. Default 30 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Whether notifications wake the poller. Default true; without them it polls, as it must
    /// behind a pooler in transaction mode.
    pub fn listen(mut self, listen: bool) -> Self {
        self.options.listen = listen;
        self
    }

    /// The channel to listen on, which [`emit`](crate::emit) then notifies. Default
    /// `outbox_events`; at most 63 bytes of `a` to `z`, `0` to `9`, `_` and `$`.
    pub fn channel(mut self, name: impl Into<String>) -> Self {
        self.options.channel = name.into();
        self
    }

    /// Shared state that handlers take as [`State<T>`](crate::State): one value per type.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        if !self.states.insert(value) {
            self.two_states.push(std::any::type_name::<T>());
        }
        self
    }

    /// Runs these handlers and no others.
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.only
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    /// Runs all handlers but these.
    pub fn except<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.except.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether the warning of a failed attempt has the error's text, which may hold what the event
    /// holds. Default false: then the text is in the table, and in the log at level debug.
    pub fn log_errors(mut self, log: bool) -> Self {
        self.options.log_errors = log;
        self
    }

    async fn run(self) -> Result<Outbox, StartError> {
        let mut problems = Vec::new();
        self.check_options(&mut problems);
        let handlers = self.choose_handlers(&mut problems);
        if let Err(conflict) = disagrees(self.options.retry.max_retries) {
            problems.push(StartProblem::Conflict(conflict.to_string()));
        }

        let sessions = Sessions::like(
            &self.pool,
            CONNECTIONS,
            self.options.connect_timeout,
            STATEMENT_LIMIT,
        );
        match self.look(&sessions).await {
            Ok(found) => {
                sessions.default_isolation(&found.isolation);
                self.check_schema(found, &mut problems).await;
            }
            Err(error) if problems.is_empty() => return Err(StartError::Unreachable(error)),
            Err(error) => problems.push(StartProblem::Unreachable(error)),
        }
        let entered = if problems.is_empty() {
            self.enter(&mut problems)
        } else {
            None
        };
        let Some(entered) = entered else {
            sessions.close(Duration::from_secs(1)).await;
            return Err(StartError::Refused(problems));
        };
        spawn::subscribe(&sessions, &handlers)
            .await
            .map_err(StartError::Database)?;
        self.spawn(&handlers, sessions, entered)
    }
}

impl IntoFuture for Start {
    type Output = Result<Outbox, StartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
