//! The claims that a runtime holds, and the thread that keeps them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{PgPool, Row};
use tokio::sync::oneshot;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::options::Lease;
use crate::outage::Outage;
use crate::session::Sessions;

const HEARTBEAT: &str = include_str!("sql/heartbeat.sql");
const JUDGE: &str = include_str!("sql/judge.sql");

/// One claim in hand.
#[derive(Debug)]
struct Held {
    token: Uuid,
    /// When the lease runs out by the monotonic clock, counted from before the statement that set
    /// it was sent: never later than by the server's.
    deadline: Instant,
    /// A settle of it is on its way, so its absence from a renewal proves nothing.
    settling: bool,
    lost: CancellationToken,
}

/// All claims in hand, by record.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: Mutex<HashMap<Uuid, Held>>,
}

/// What became of a claim that a fenced statement did not touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Still ours; something had the row locked.
    Ours,
    /// Expired, or another's by now.
    Lost,
    /// Nobody's: settled, released or recovered.
    Nobodys,
}

impl Claims {
    fn held(&self) -> MutexGuard<'_, HashMap<Uuid, Held>> {
        // Nothing that runs under the lock can leave the map half changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a claim in hand; the token that comes back is cancelled when the claim is lost.
    pub(crate) fn hold(
        &self,
        rows: impl Iterator<Item = Uuid>,
        token: Uuid,
        deadline: Instant,
    ) -> Vec<CancellationToken> {
        let mut held = self.held();
        rows.map(|id| {
            let lost = CancellationToken::new();
            let earlier = held.insert(
                id,
                Held {
                    token,
                    deadline,
                    settling: false,
                    lost: lost.clone(),
                },
            );
            // Expired by the server's clock only: ours stood still while the machine slept.
            if let Some(earlier) = earlier {
                earlier.lost.cancel();
            }
            lost
        })
        .collect()
    }

    /// Marks those claims that are still in hand as being settled; the others come back as lost.
    pub(crate) fn settling(&self, claims: &[(Uuid, Uuid)]) -> Vec<Uuid> {
        let mut held = self.held();
        let mut lost = Vec::new();
        for (id, token) in claims {
            match held.get_mut(id) {
                Some(claim) if claim.token == *token => claim.settling = true,
                _ => lost.push(*id),
            }
        }
        lost
    }

    /// Lets claims go: they were settled or released.
    pub(crate) fn let_go(&self, claims: impl IntoIterator<Item = (Uuid, Uuid)>) {
        let mut held = self.held();
        for (id, token) in claims {
            if held.get(&id).is_some_and(|claim| claim.token == token) {
                held.remove(&id);
            }
        }
    }

    /// Gives claims up and tells their handlers.
    fn lose(&self, lost: impl Fn(&Uuid, &Held) -> bool) -> usize {
        // Cancelling wakes tasks; that needs no lock.
        let gone: Vec<Held> = self
            .held()
            .extract_if(|id, held| lost(id, held))
            .map(|(_, h)| h)
            .collect();
        for held in &gone {
            held.lost.cancel();
        }
        gone.len()
    }

    fn lose_expired(&self) -> usize {
        let now = Instant::now();
        self.lose(|_, held| held.deadline <= now)
    }

    fn earliest_deadline(&self) -> Option<Instant> {
        self.held().values().map(|held| held.deadline).min()
    }

    /// Every claim in hand, with its token.
    pub(crate) fn all(&self) -> Vec<(Uuid, Uuid)> {
        self.held()
            .iter()
            .map(|(id, held)| (*id, held.token))
            .collect()
    }

    fn renewed(&self, ids: &[Uuid], token_of: &HashMap<Uuid, Uuid>, deadline: Instant) {
        let mut held = self.held();
        for id in ids {
            if let Some(claim) = held.get_mut(id)
                && token_of.get(id) == Some(&claim.token)
            {
                claim.deadline = deadline;
            }
        }
    }

    /// How many are in hand.
    pub(crate) fn count(&self) -> usize {
        self.held().len()
    }
}

/// Looks at the rows of claims that a fenced statement did not touch, without a lock.
pub(crate) async fn judge(
    sessions: &Sessions,
    claims: &[(Uuid, Uuid)],
) -> sqlx::Result<HashMap<Uuid, Verdict>> {
    let ids: Vec<Uuid> = claims.iter().map(|(id, _)| *id).collect();
    let rows = sessions.fetch(sqlx::query(JUDGE).bind(&ids)).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let id: Uuid = row.try_get("id")?;
        let token: Option<Uuid> = row.try_get("claim_token")?;
        let live: bool = row.try_get("live")?;
        found.insert(id, (token, live));
    }
    let verdict = |id: &Uuid, ours: &Uuid| match found.get(id) {
        Some((Some(token), true)) if token == ours => Verdict::Ours,
        Some((Some(_), _)) => Verdict::Lost,
        Some((None, _)) | None => Verdict::Nobodys,
    };
    Ok(claims
        .iter()
        .map(|(id, token)| (*id, verdict(id, token)))
        .collect())
}

/// Ends the heartbeat thread when dropped. It lives in a task of the tokio runtime that called
/// `start`: if that runtime goes, so does the thread.
#[derive(Debug)]
pub(crate) struct Heart {
    _alive: oneshot::Sender<()>,
}

/// Starts the thread that renews `claims`, on a connection of its own: handlers that block every
/// thread of the application's runtime keep their claims.
///
/// # Errors
///
/// When the system gives no thread.
pub(crate) fn start_heart(
    pool: &PgPool,
    claims: Arc<Claims>,
    lease: Lease,
) -> std::io::Result<Heart> {
    let (alive, ended) = oneshot::channel();
    let pool = pool.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("outbox-heartbeat".to_owned())
        .spawn(move || {
            runtime.block_on(async move {
                // Below the interval, so that a renewal that hangs is over before the next is due.
                let limit = lease.interval().mul_f64(0.9);
                let sessions = Sessions::like(&pool, 1, limit, limit).limited_by_server();
                drop(pool);
                tokio::select! {
                    () = beat(&sessions, &claims, lease) => {}
                    _ = ended => {}
                }
                sessions.close(Duration::from_secs(1)).await;
            });
            // Not waited for: a name lookup on one of its threads may hang.
            runtime.shutdown_background();
        })?;
    Ok(Heart { _alive: alive })
}

async fn beat(sessions: &Sessions, claims: &Claims, lease: Lease) {
    let interval = lease.interval();
    let mut outage = Outage::none("renewing claims");
    let mut failures = 0;
    let mut next = Instant::now() + interval;
    loop {
        let until = claims
            .earliest_deadline()
            .map_or(next, |deadline| deadline.min(next));
        sleep_until(until.into()).await;
        report(
            claims.lose_expired(),
            "their leases ran out without a renewal",
        );
        if Instant::now() < next {
            continue;
        }
        next = Instant::now() + interval;
        let renewal = renew(sessions, claims, lease.duration);
        tokio::pin!(renewal);
        // Leases run out also while a renewal hangs.
        let result = loop {
            let deadline = claims
                .earliest_deadline()
                .unwrap_or_else(|| Instant::now() + interval);
            match timeout(
                deadline.saturating_duration_since(Instant::now()),
                &mut renewal,
            )
            .await
            {
                Ok(result) => break result,
                Err(_) => {
                    if claims.lose_expired() == 0 {
                        tokio::task::yield_now().await;
                    } else {
                        tracing::warn!("outbox: leases ran out while a renewal was under way");
                    }
                }
            }
        };
        match result {
            Ok(()) => {
                outage.over();
                failures = 0;
            }
            Err(error) => {
                let _ = outage.failed(&error);
                failures += 1;
                if failures > lease.heartbeat_failure_tolerance {
                    report(
                        claims.lose(|_, _| true),
                        "too many renewals failed in a row",
                    );
                }
            }
        }
    }
}

fn report(lost: usize, why: &str) {
    if lost > 0 {
        tracing::warn!(claims = lost, "outbox: claims were given up: {why}");
    }
}

/// Renews all claims in hand once.
async fn renew(sessions: &Sessions, claims: &Claims, duration: Duration) -> sqlx::Result<()> {
    let all = claims.all();
    if all.is_empty() {
        return Ok(());
    }
    let (ids, tokens): (Vec<Uuid>, Vec<Uuid>) = all.iter().copied().unzip();
    let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let deadline = Instant::now() + duration;
    let rows = sessions
        .fetch(sqlx::query(HEARTBEAT).bind(&ids).bind(&tokens).bind(ms))
        .await?;
    let renewed: Vec<Uuid> = rows
        .iter()
        .map(|row| row.try_get("id"))
        .collect::<sqlx::Result<_>>()?;
    let mut missing: HashMap<Uuid, Uuid> = all.into_iter().collect();
    claims.renewed(&renewed, &missing, deadline);
    for id in &renewed {
        missing.remove(id);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<(Uuid, Uuid)> = missing.into_iter().collect();
    let verdicts = judge(sessions, &missing).await?;
    let tokens: HashMap<Uuid, Uuid> = missing.into_iter().collect();
    let lost = claims.lose(|id, held| {
        !held.settling
            && tokens.get(id) == Some(&held.token)
            && verdicts
                .get(id)
                .is_some_and(|verdict| *verdict != Verdict::Ours)
    });
    report(lost, "another runtime has them, or their leases expired");
    Ok(())
}
