//! Attempts' results, written under their claims' fences: in batches under load, at once when idle.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Row;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::lease::{Claims, Verdict, judge};
use crate::outage::Outage;
use crate::record::Status;
use crate::session::{Sessions, refuses_data};
use crate::wake::Wake;

const SETTLE: &str = include_str!("sql/settle.sql");

/// Results per statement, at most.
const BATCH: usize = 500;

/// How long a result waits for others while handlers are running.
const LINGER: Duration = Duration::from_millis(2);

/// How long a settle waits before it tries again a row that something has locked: this long at
/// first, for one's own renewal, and up to eight times as long for a stranger.
const LOCKED: Duration = Duration::from_millis(5);

/// How often a result that the server refuses is tried, and how long others wait between.
const REFUSALS: u32 = 20;
const REFUSED: Duration = Duration::from_millis(200);

/// A retry due so soon may have been passed by the poller's position before it was committed.
const SOON: Duration = Duration::from_millis(100);

/// One attempt's result on its way to the table.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) id: Uuid,
    pub(crate) token: Uuid,
    pub(crate) handler: Arc<str>,
    pub(crate) failure: Option<Failed>,
    /// A statement with it failed, so it may be in the table already.
    pub(crate) in_doubt: bool,
    /// How often its row was locked when it was to be written.
    pub(crate) passed_over: u32,
    /// How often the server refused it, such as by a trigger of the application's.
    pub(crate) refused: u32,
}

/// What is stored and logged of a failed attempt.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: String,
    pub(crate) type_name: &'static str,
    pub(crate) delay_ms: i64,
}

/// Results that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Settlements {
    waiting: Mutex<Vec<Settlement>>,
    /// A result came.
    came: Notify,
    /// Results were written.
    pub(crate) settled: Notify,
}

impl Settlements {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Settlement>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, settlement: Settlement) {
        let count = {
            let mut waiting = self.waiting();
            waiting.push(settlement);
            waiting.len()
        };
        // Between these the settler is awake or lingering.
        if count == 1 || count == BATCH {
            self.came.notify_one();
        }
    }

    /// Rings for the settler without a result: handlers are done, or the runtime stops.
    pub(crate) fn nudge(&self) {
        self.came.notify_one();
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting().len()
    }

    fn take(&self) -> Vec<Settlement> {
        let mut waiting = self.waiting();
        let count = waiting.len().min(BATCH);
        let rest = waiting.split_off(count);
        std::mem::replace(&mut *waiting, rest)
    }

    fn put_back(&self, mut settlements: Vec<Settlement>) {
        let mut waiting = self.waiting();
        settlements.append(&mut waiting);
        *waiting = settlements;
    }
}

/// What the settler needs to know of the handlers.
pub(crate) trait Load: Send + Sync {
    /// Whether handlers are running that may have a result soon.
    fn busy(&self) -> bool;
}

/// Writes results until `stopped` and nothing is left.
pub(crate) struct Settler<L> {
    pub(crate) sessions: Sessions,
    pub(crate) claims: Arc<Claims>,
    pub(crate) settlements: Arc<Settlements>,
    pub(crate) load: Arc<L>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) log_errors: bool,
    pub(crate) stopped: tokio_util::sync::CancellationToken,
}

impl<L: Load> Settler<L> {
    pub(crate) async fn run(self) {
        let mut outage = Outage::none("settling");
        // Rows per statement; one, while the server refuses something in the batch.
        let mut size = BATCH;
        loop {
            if self.settlements.count() == 0 {
                tokio::select! {
                    biased;
                    () = self.settlements.came.notified() => {}
                    () = self.stopped.cancelled() => return,
                }
            }
            self.linger().await;
            let batch = self.settlements.take();
            for chunk in chunks(batch, size) {
                match self.settle(chunk).await {
                    Ok(()) => {
                        outage.over();
                        size = BATCH;
                    }
                    Err((error, chunk)) => {
                        let mut wait = outage.failed(&error);
                        let (mut rest, doubtful) = self.give_up_lost(chunk);
                        rest.extend(doubtful);
                        if refuses_data(&error) {
                            // The server works, so others need not wait for long.
                            wait = wait.min(REFUSED);
                            if rest.len() > 1 {
                                size = 1;
                            } else {
                                rest.retain_mut(|settlement| self.try_again(settlement));
                            }
                        }
                        self.settlements.put_back(rest);
                        tokio::time::sleep(wait).await;
                    }
                }
            }
            self.settlements.settled.notify_waiters();
        }
    }

    /// Whether a result that the server refuses is tried once more. A claim whose result can't be
    /// stored is let go in the end: recovery counts its lease as lost, and so bounds it.
    fn try_again(&self, settlement: &mut Settlement) -> bool {
        settlement.refused += 1;
        if settlement.refused < REFUSALS {
            return true;
        }
        self.claims.let_go([(settlement.id, settlement.token)]);
        tracing::error!(
            handler = &*settlement.handler,
            record_id = %settlement.id,
            "outbox: the server refused this attempt's result {REFUSALS} times; the claim is given up",
        );
        false
    }

    /// Waits for more results while handlers run that may bring some.
    async fn linger(&self) {
        let until = tokio::time::Instant::now() + LINGER;
        while self.load.busy() && self.settlements.count() < BATCH && !self.stopped.is_cancelled() {
            if tokio::time::timeout_at(until, self.settlements.came.notified())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// One statement, and what came of each row of it.
    async fn settle(&self, batch: Vec<Settlement>) -> Result<(), (sqlx::Error, Vec<Settlement>)> {
        let (mut batch, doubtful) = self.give_up_lost(batch);
        if let Err((error, mut rest)) = self.judge(doubtful, false).await {
            rest.append(&mut batch);
            return Err((error, rest));
        }
        if batch.is_empty() {
            return Ok(());
        }
        let written = match self.write(&batch).await {
            Ok(written) => written,
            Err(error) => {
                for settlement in &mut batch {
                    settlement.in_doubt = true;
                }
                return Err((error, batch));
            }
        };
        self.claims.let_go(
            batch
                .iter()
                .filter(|s| written.contains_key(&s.id))
                .map(|s| (s.id, s.token)),
        );
        let mut missing = Vec::new();
        for settlement in batch {
            match written.get(&settlement.id) {
                Some(row) => self.note_failure(&settlement, row),
                None => missing.push(settlement),
            }
        }
        self.judge(missing, true).await
    }

    async fn write(&self, batch: &[Settlement]) -> sqlx::Result<HashMap<Uuid, Written>> {
        let ids: Vec<Uuid> = batch.iter().map(|s| s.id).collect();
        let tokens: Vec<Uuid> = batch.iter().map(|s| s.token).collect();
        let delivered: Vec<bool> = batch.iter().map(|s| s.failure.is_none()).collect();
        let errors: Vec<Option<&str>> = batch
            .iter()
            .map(|s| s.failure.as_ref().map(|f| f.error.as_str()))
            .collect();
        let delays: Vec<i64> = batch
            .iter()
            .map(|s| s.failure.as_ref().map_or(0, |f| f.delay_ms))
            .collect();
        let statement = sqlx::query(SETTLE)
            .bind(&ids)
            .bind(&tokens)
            .bind(&delivered)
            .bind(&errors)
            .bind(&delays);
        let rows = self.sessions.fetch(statement).await?;
        rows.iter()
            .map(|row| {
                let written = Written {
                    status: match row.try_get("status")? {
                        "SENT" => Status::Sent,
                        "FAILED" => Status::Failed,
                        _ => Status::Pending,
                    },
                    retry_count: row.try_get("retry_count")?,
                    max_retries: row.try_get("max_retries")?,
                };
                Ok((row.try_get("id")?, written))
            })
            .collect()
    }

    /// What to make of results whose rows the statement did not touch, or that were in doubt when
    /// their claims were no longer `in_hand`.
    async fn judge(
        &self,
        missing: Vec<Settlement>,
        in_hand: bool,
    ) -> Result<(), (sqlx::Error, Vec<Settlement>)> {
        if missing.is_empty() {
            return Ok(());
        }
        let claims: Vec<(Uuid, Uuid)> = missing.iter().map(|s| (s.id, s.token)).collect();
        let verdicts = match judge(&self.sessions, &claims).await {
            Ok(verdicts) => verdicts,
            Err(error) => return Err((error, missing)),
        };
        let mut again = Vec::new();
        for mut settlement in missing {
            match verdicts.get(&settlement.id) {
                Some(Verdict::Ours) if in_hand => {
                    settlement.passed_over += 1;
                    again.push(settlement);
                }
                Some(Verdict::Nobodys) | None if settlement.in_doubt => {
                    self.claims.let_go([(settlement.id, settlement.token)]);
                    tracing::warn!(
                        handler = &*settlement.handler,
                        record_id = %settlement.id,
                        "outbox: the reply to a settle was lost and the claim is gone: \
                         whether this attempt's result was stored is unknown",
                    );
                }
                _ => self.lost(&settlement),
            }
        }
        if let Some(times) = again.iter().map(|settlement| settlement.passed_over).min() {
            self.settlements.put_back(again);
            tokio::time::sleep(LOCKED * 2_u32.pow(times.clamp(1, 4) - 1)).await;
        }
        Ok(())
    }

    /// Takes out what has no claim in hand any more: what is left, and what of the rest may have
    /// been stored.
    fn give_up_lost(&self, batch: Vec<Settlement>) -> (Vec<Settlement>, Vec<Settlement>) {
        let claims: Vec<(Uuid, Uuid)> = batch.iter().map(|s| (s.id, s.token)).collect();
        let lost = self.claims.settling(&claims);
        if lost.is_empty() {
            return (batch, Vec::new());
        }
        let (lost, held): (Vec<_>, Vec<_>) = batch.into_iter().partition(|s| lost.contains(&s.id));
        let (doubtful, lost): (Vec<_>, Vec<_>) = lost.into_iter().partition(|s| s.in_doubt);
        for settlement in &lost {
            self.lost(settlement);
        }
        (held, doubtful)
    }

    fn lost(&self, settlement: &Settlement) {
        self.claims.let_go([(settlement.id, settlement.token)]);
        log_lost(&settlement.handler, settlement.id);
    }

    /// Reports a failed attempt, and when the poller is to look for the next.
    fn note_failure(&self, settlement: &Settlement, row: &Written) {
        let Some(failed) = &settlement.failure else {
            return;
        };
        if row.status == Status::Pending {
            let delay = Duration::from_millis(u64::try_from(failed.delay_ms).unwrap_or(0));
            if delay < SOON {
                self.wake.ring();
            }
            self.wake.due_at(Instant::now() + delay);
        }
        tracing::debug!(record_id = %settlement.id, error = failed.error, "outbox: attempt failed");
        let next_ms = (row.status == Status::Pending).then_some(failed.delay_ms);
        tracing::warn!(
            handler = &*settlement.handler,
            record_id = %settlement.id,
            attempt = row.retry_count,
            max_retries = row.max_retries,
            next_delay_ms = next_ms,
            error_type = failed.type_name,
            error = self.log_errors.then_some(failed.error.as_str()),
            "outbox: attempt {} of {} failed{}",
            row.retry_count,
            row.max_retries,
            if next_ms.is_some() { "" } else { ", the record is FAILED" },
        );
    }
}

/// A row as a settle left it.
struct Written {
    status: Status,
    retry_count: i32,
    max_retries: i32,
}

/// Reports a result that does not count.
pub(crate) fn log_lost(handler: &str, id: Uuid) {
    tracing::warn!(
        handler,
        record_id = %id,
        "outbox: lost claim: the lease expired before the attempt's result was stored, so the result is discarded",
    );
}

fn chunks(batch: Vec<Settlement>, size: usize) -> Vec<Vec<Settlement>> {
    if batch.len() <= size {
        return vec![batch];
    }
    let mut chunks: Vec<Vec<Settlement>> = Vec::new();
    for settlement in batch {
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < size => chunk.push(settlement),
            _ => chunks.push(vec![settlement]),
        }
    }
    chunks
}
