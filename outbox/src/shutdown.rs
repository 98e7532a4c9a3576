//! An orderly end: what runs may finish, what can't is given back.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::dispatch::Dispatcher;
use crate::lease::{Claims, Heart, Verdict, judge};
use crate::session::Sessions;
use crate::settle::Load;

const RELEASE: &str = include_str!("sql/release.sql");

/// How long a release is tried, however little of `shutdown_timeout` is left.
const RELEASE_FOR: Duration = Duration::from_secs(3);

/// Claims could not be released.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// The database did not take the claims back. The records are safe: other nodes take them over
    /// when the leases have run out.
    #[error("{claims} claims could not be released; they end with their leases")]
    Unreleased {
        /// How many.
        claims: usize,
        /// What the last try said, if it was an error.
        #[source]
        source: Option<Arc<sqlx::Error>>,
    },
    /// The tokio runtime that the outbox was started in is gone, and the outbox with it. Claims end
    /// with their leases.
    #[error(
        "the tokio runtime that the outbox was started in has ended; claims end with their leases"
    )]
    RuntimeGone,
}

/// A runtime's tasks and what ends them.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) release: Release,
    pub(crate) heart: Heart,
    /// Returns what it claimed too late to be run.
    pub(crate) poller: JoinHandle<Vec<(Uuid, Uuid)>>,
    pub(crate) settler: JoinHandle<()>,
    /// No more results will come.
    pub(crate) settled: CancellationToken,
    pub(crate) others: Vec<JoinHandle<()>>,
    pub(crate) shutdown_timeout: Duration,
}

impl Keeper {
    /// Waits for `stop`, then ends everything and says what came of it.
    pub(crate) async fn keep<G>(
        self,
        stop: CancellationToken,
        stopped: watch::Sender<Option<Result<(), ShutdownError>>>,
        guard: G,
    ) {
        stop.cancelled().await;
        let result = self.end().await;
        drop(guard);
        stopped.send_replace(Some(result));
    }

    async fn end(self) -> Result<(), ShutdownError> {
        tracing::info!("outbox: shutting down");
        let Self {
            dispatcher,
            release,
            heart,
            mut poller,
            mut settler,
            settled,
            others,
            shutdown_timeout,
        } = self;
        let deadline = Instant::now() + shutdown_timeout;
        dispatcher.stopping.cancel();
        let unstarted = dispatcher.close();
        let give_back = async {
            // Another node can go on with these while others still run here. What fails is left to
            // the end.
            let last = deadline.max(Instant::now() + RELEASE_FOR);
            release.early(&unstarted, last).await;
            // A claim whose reply nobody reads still happens, so its reply is read.
            match timeout_at(last, &mut poller).await {
                Ok(Ok(late)) => release.early(&late, last).await,
                Ok(Err(_)) => {}
                Err(_) => poller.abort(),
            }
        };
        let wait = async {
            if !idle_by(&dispatcher, deadline).await {
                let dropped = dispatcher.running();
                tracing::warn!(
                    handlers = dropped.join(", "),
                    "outbox: {} handlers ran beyond `shutdown_timeout` and are dropped",
                    dropped.len(),
                );
                dispatcher.aborted.cancel();
                // One that blocks its thread can't be dropped; its claim is released all the same.
                idle_by(&dispatcher, Instant::now() + dispatcher.cancel_grace).await;
            }
            dispatcher.aborted.cancel();
            settled.cancel();
            let last = deadline.max(Instant::now() + RELEASE_FOR);
            if timeout_at(last, &mut settler).await.is_err() {
                settler.abort();
            }
        };
        tokio::join!(give_back, wait);
        let result = release
            .all(deadline.max(Instant::now() + RELEASE_FOR))
            .await;
        for other in &others {
            other.abort();
        }
        drop(heart);
        release.sessions.close(Duration::from_secs(1)).await;
        tracing::info!("outbox: shut down");
        result
    }
}

/// Gives claims back.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) claims: Arc<Claims>,
    pub(crate) sessions: Sessions,
    pub(crate) channel: String,
}

impl Release {
    /// Gives these claims back, if that works at once.
    async fn early(&self, unstarted: &[(Uuid, Uuid)], until: Instant) {
        if unstarted.is_empty() {
            return;
        }
        if let Ok(Err(error)) = timeout_at(until, self.once(unstarted)).await {
            tracing::debug!(
                error = crate::error_text::chain(&error),
                "outbox: releasing claims failed"
            );
        }
    }

    /// Gives back every claim that is still in hand.
    async fn all(&self, until: Instant) -> Result<(), ShutdownError> {
        let mut failure = None;
        loop {
            let held = self.claims.all();
            if held.is_empty() {
                return Ok(());
            }
            match timeout_at(until, self.once(&held)).await {
                Ok(Ok(())) if self.claims.count() == 0 => return Ok(()),
                Ok(Err(error)) => {
                    tracing::debug!(
                        error = crate::error_text::chain(&error),
                        "outbox: releasing claims failed"
                    );
                    failure = Some(Arc::new(error));
                }
                _ => {}
            }
            let claims = self.claims.count();
            if Instant::now() >= until && claims > 0 {
                return Err(ShutdownError::Unreleased {
                    claims,
                    source: failure,
                });
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn once(&self, held: &[(Uuid, Uuid)]) -> sqlx::Result<()> {
        let (ids, tokens): (Vec<Uuid>, Vec<Uuid>) = held.iter().copied().unzip();
        let statement = sqlx::query(RELEASE)
            .bind(&ids)
            .bind(&tokens)
            .bind(&self.channel);
        let rows = self.sessions.fetch(statement).await?;
        let released: Vec<Uuid> = rows
            .iter()
            .map(|row| row.try_get(0))
            .collect::<sqlx::Result<_>>()?;
        let left: Vec<(Uuid, Uuid)> = held
            .iter()
            .copied()
            .filter(|(id, _)| !released.contains(id))
            .collect();
        self.claims
            .let_go(held.iter().copied().filter(|(id, _)| released.contains(id)));
        if left.is_empty() {
            return Ok(());
        }
        // Locked rows are tried again; what is no longer ours needs no release.
        let verdicts = judge(&self.sessions, &left).await?;
        let gone = |id: &Uuid| {
            verdicts
                .get(id)
                .is_some_and(|verdict| *verdict != Verdict::Ours)
        };
        self.claims
            .let_go(left.iter().copied().filter(|(id, _)| gone(id)));
        Ok(())
    }
}

/// Whether nothing runs any more by `deadline`.
async fn idle_by(dispatcher: &Dispatcher, deadline: Instant) -> bool {
    loop {
        let idle = dispatcher.idle.notified();
        if !dispatcher.busy() {
            return true;
        }
        if timeout_at(deadline, idle).await.is_err() {
            return !dispatcher.busy();
        }
    }
}
