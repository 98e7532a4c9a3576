//! What wakes the poller: a notification, a due time, a freed slot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::outage::Outage;
use crate::session::Sessions;

/// How long the listener waits before it asks whether its connection still lives.
const SILENCE: Duration = Duration::from_secs(30);

/// How long it waits for the answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The poller's bell. Ringing it many times before it is heard is ringing it once.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    bell: Notify,
    rung: AtomicBool,
    due: Mutex<Option<Instant>>,
}

impl Wake {
    /// New rows may be there, also behind the poller's position.
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    /// A record was put off by this process: it is due at `at`.
    pub(crate) fn due_at(&self, at: Instant) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        *due = Some(due.map_or(at, |earlier| earlier.min(at)));
        drop(due);
        self.nudge();
    }

    /// The earliest due time that was told since the last time this was asked.
    pub(crate) fn take_due(&self) -> Option<Instant> {
        self.due
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Something else changed that the poller should look at: a freed slot, a due time, a pause.
    pub(crate) fn nudge(&self) {
        self.bell.notify_one();
    }

    /// Returns at the next ring or nudge, or at once when there was one that nobody heard.
    pub(crate) async fn heard(&self) {
        self.bell.notified().await;
    }

    /// Whether it was rung since the last time this was asked.
    pub(crate) fn take_ring(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }
}

/// Listens on `channel` and rings, until `stop`. Reconnects for ever: without it the runtime polls.
pub(crate) async fn listen(
    sessions: Sessions,
    channel: String,
    wake: Arc<Wake>,
    stop: CancellationToken,
) {
    let mut outage = Outage::none("listening for notifications");
    loop {
        let failed = tokio::select! {
            () = stop.cancelled() => break,
            error = listen_once(&sessions, &channel, &wake, &mut outage) => error,
        };
        let wait = outage.failed(&failed);
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(wait) => {}
        }
    }
    sessions.close(Duration::from_secs(1)).await;
}

/// Listens until something fails, and returns that.
async fn listen_once(
    sessions: &Sessions,
    channel: &str,
    wake: &Wake,
    outage: &mut Outage,
) -> sqlx::Error {
    let connected = async {
        let mut listener = PgListener::connect_with(sessions.pool()).await?;
        listener.eager_reconnect(false);
        listener.listen(channel).await?;
        Ok(listener)
    };
    let mut listener = match connected.await {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    outage.over();
    // What was emitted before the LISTEN took hold.
    wake.ring();
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(_))) => {
                while listener.next_buffered().is_some() {}
                wake.ring();
            }
            Ok(Ok(None)) => return lost(),
            Ok(Err(error)) => return error,
            Err(_) => {
                let ping = sqlx::query("SELECT 1").execute(&mut listener);
                match timeout(ANSWER, ping).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error,
                    Err(_) => return lost(),
                }
            }
        }
    }
}

fn lost() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(
        std::io::ErrorKind::ConnectionAborted,
        "the listener's connection was lost",
    ))
}
