//! A running outbox, and the handle to it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::Row;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::dispatch::Dispatcher;
use crate::emit::Emitter;
use crate::handler::Place;
use crate::outage::Outage;
use crate::retry::Backoff;
use crate::session::Sessions;
use crate::settle::Settlements;
use crate::shutdown::ShutdownError;
use crate::wake::Wake;

const DRAINED: &str = include_str!("sql/drained.sql");
const SEEN: &str = include_str!("sql/seen.sql");
const UNHANDLED: &str = include_str!("sql/unhandled.sql");

/// How often a runtime notes that it runs its handlers: well below the day after which they count
/// as gone.
const SEEN_EVERY: Duration = Duration::from_hours(1);

/// How often rows that nobody handles are counted.
const UNHANDLED_EVERY: Duration = Duration::from_mins(10);

/// Unhandled rows are counted up to this, for each handler and type.
const COUNTED: i64 = 10_000;

/// The longest that `drained` waits between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A running outbox: the handle that [`start`](crate::start) gives.
///
/// A clone is the same outbox. Dropping all handles does not stop it; [`shutdown`](Self::shutdown)
/// does, or the end of the tokio runtime that it was started in.
#[derive(Debug, Clone)]
pub struct Outbox(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) settlements: Arc<Settlements>,
    pub(crate) sessions: Sessions,
    pub(crate) wake: Arc<Wake>,
    pub(crate) paused: Arc<AtomicBool>,
    pub(crate) emitter: Emitter,
    /// What this runtime's records stand under: the handlers' names and former names.
    pub(crate) names: Vec<String>,
    /// The event types that its handlers name.
    pub(crate) types: Vec<&'static str>,
    /// Their patterns that end in `*`.
    pub(crate) patterns: Vec<&'static str>,
    /// Asks for shutdown.
    pub(crate) stop: CancellationToken,
    /// What shutdown came to, once it is over.
    pub(crate) stopped: watch::Receiver<Option<Result<(), ShutdownError>>>,
}

/// A handler that a runtime runs, with the settings that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerInfo {
    /// The name that stands on its records.
    pub name: &'static str,
    /// The patterns of the event types that it takes.
    pub patterns: &'static [&'static str],
    /// Its former names.
    pub aliases: &'static [&'static str],
    /// The limit of its attribute, if it has one.
    pub max_retries: Option<i32>,
    /// How its delays grow.
    pub backoff: Backoff,
    /// The delay after the first failed attempt.
    pub initial_delay: Duration,
    /// The cap of an exponential delay.
    pub max_delay: Duration,
    /// How long one attempt may take, if that is limited.
    pub timeout: Option<Duration>,
    /// Where the function stands.
    pub place: Place,
}

/// [`Outbox::drained`] can't say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrainError {
    /// The runtime was stopped before everything was delivered.
    #[error("the outbox was stopped before its records were drained")]
    Stopped,
}

impl Outbox {
    /// Stops: no new claims; [`Context::cancelled`](crate::Context::cancelled) fires; running
    /// handlers get `shutdown_timeout` (default 30 s) to end, their claims renewed and their
    /// results stored; then the rest are dropped. Claims that are left are released, so that
    /// another node goes on with them at once, no attempt charged. After it returns, nothing
    /// settles.
    ///
    /// Handlers that had to be dropped are named in a warning and are no error. A second call, also
    /// at the same time, waits for the same end and returns the same.
    ///
    /// # Errors
    ///
    /// When claims could not be released: other nodes take those records over when their leases
    /// have run out.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: once begun, shutdown goes on whether or not somebody waits for it.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        self.0.stop.cancel();
        let mut stopped = self.0.stopped.clone();
        match stopped.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Ok(())),
            Err(_) => Err(ShutdownError::RuntimeGone),
        }
    }

    /// Runs until `signal` is ready, then shuts down.
    ///
    /// ```no_run
    /// # async fn run(outbox: outbox::Outbox) -> Result<(), outbox::ShutdownError> {
    /// outbox.run_until(tokio::signal::ctrl_c()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Returns also when somebody else shuts the outbox down.
    ///
    /// # Errors
    ///
    /// As [`shutdown`](Self::shutdown).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe; dropped before the signal, the outbox keeps running.
    pub async fn run_until<F: Future>(&self, signal: F) -> Result<(), ShutdownError> {
        tokio::select! {
            _ = signal => {}
            () = self.0.stop.cancelled() => {}
        }
        self.shutdown().await
    }

    /// Returns when no record of this runtime's handlers, and no unbound record of their event
    /// types, is PENDING or PROCESSING on any node: scheduled retries and delayed events included.
    /// Events that are emitted meanwhile are waited for, too. Waits through database outages.
    ///
    /// # Errors
    ///
    /// When the outbox is stopped first.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn drained(&self) -> Result<(), DrainError> {
        let inner = &self.0;
        let mut outage = Outage::none("asking whether all is drained");
        let mut wait = Duration::from_millis(5);
        loop {
            if inner.stop.is_cancelled() {
                return Err(DrainError::Stopped);
            }
            let settled = inner.settlements.settled.notified();
            let statement = sqlx::query(DRAINED)
                .bind(&inner.names)
                .bind(&inner.types)
                .bind(&inner.patterns);
            let answer = inner.sessions.fetch(statement).await;
            match answer.and_then(|rows| rows.first().map_or(Ok(false), |row| row.try_get(0))) {
                Ok(true) => return Ok(()),
                Ok(false) => outage.over(),
                Err(_) if inner.stop.is_cancelled() => return Err(DrainError::Stopped),
                Err(error) => tokio::time::sleep(outage.failed(&error)).await,
            }
            // Settles of this runtime are told; those of others are looked for.
            tokio::select! {
                () = settled => tokio::time::sleep(Duration::from_millis(5)).await,
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(LOOK_EVERY),
                () = inner.stop.cancelled() => {}
            }
        }
    }

    /// The emitter with this outbox's settings.
    #[must_use]
    pub fn emitter(&self) -> Emitter {
        self.0.emitter.clone()
    }

    /// Stops claiming. What runs goes on; renewals, settles and recovery go on, too.
    pub fn pause(&self) {
        self.0.paused.store(true, Ordering::Release);
        self.0.wake.nudge();
    }

    /// Claims again after [`pause`](Self::pause).
    pub fn resume(&self) {
        self.0.paused.store(false, Ordering::Release);
        self.0.wake.ring();
    }

    /// The handlers that this runtime runs, in name order.
    #[must_use]
    pub fn handlers(&self) -> Vec<HandlerInfo> {
        let info = |handler: &crate::dispatch::Handler| HandlerInfo {
            name: handler.spec.name,
            patterns: handler.spec.patterns,
            aliases: handler.spec.aliases,
            max_retries: handler.spec.max_retries,
            backoff: handler.policy.backoff,
            initial_delay: handler.policy.initial_delay,
            max_delay: handler.policy.max_delay,
            timeout: handler.spec.timeout(),
            place: handler.spec.place,
        };
        self.0.dispatcher.handlers.iter().map(info).collect()
    }
}

/// Notes now and then that the handlers are run, and counts rows that nobody handles.
pub(crate) async fn keep_house(sessions: Sessions, handlers: Vec<&'static str>) {
    let mut seen = tokio::time::interval(SEEN_EVERY);
    // `start` has just written it.
    seen.reset();
    let mut unhandled = tokio::time::interval(UNHANDLED_EVERY);
    let mut outage = Outage::none("looking after subscriptions");
    loop {
        let result = tokio::select! {
            _ = seen.tick() => note_seen(&sessions, &handlers).await,
            _ = unhandled.tick() => count_unhandled(&sessions).await,
        };
        match result {
            Ok(()) => outage.over(),
            Err(error) => {
                tokio::time::sleep(outage.failed(&error)).await;
                // Which of the two it was is no matter: both are cheap and seldom.
                seen.reset_immediately();
                unhandled.reset_immediately();
            }
        }
    }
}

async fn note_seen(sessions: &Sessions, handlers: &[&'static str]) -> sqlx::Result<()> {
    let rows = sessions.fetch(sqlx::query(SEEN).bind(handlers)).await?;
    if rows.len() < handlers.len() {
        tracing::warn!(
            "outbox: the subscription of a handler that runs here was ended; events reach it again after the next start"
        );
    }
    Ok(())
}

async fn count_unhandled(sessions: &Sessions) -> sqlx::Result<()> {
    for row in sessions.fetch(sqlx::query(UNHANDLED).bind(COUNTED)).await? {
        let handler: Option<&str> = row.try_get("handler")?;
        let event_type: Option<&str> = row.try_get("event_type")?;
        let rows: i64 = row.try_get("rows")?;
        let more = if rows == COUNTED { " or more" } else { "" };
        match (handler, event_type) {
            (Some(handler), _) => tracing::warn!(
                handler,
                unhandled = rows,
                "outbox: {rows}{more} records wait for a handler that nobody has run for 24 hours",
            ),
            (None, event_type) => tracing::warn!(
                event_type,
                unhandled = rows,
                "outbox: {rows}{more} records wait for a subscription to their event type",
            ),
        }
    }
    Ok(())
}
