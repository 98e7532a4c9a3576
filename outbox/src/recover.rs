//! Records whose owner is gone: found in the order of the claim's index, put back or given up.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::Row;
use uuid::Uuid;

use crate::options::Options;
use crate::position::Position;
use crate::session::Sessions;

const RECOVER: &str = include_str!("sql/recover.sql");

/// Rows of each handler that one statement looks at.
const CHUNK: i32 = 1_000;

/// A recovery runs in every tenth cycle of the poller.
const CYCLES: u32 = 10;

/// How far the scan has come, and when the next is due.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// The handlers whose records are looked at, former names included.
    names: Vec<String>,
    max_recoveries: Option<i32>,
    channel: String,
    lease: Duration,
    poll_interval: Duration,
    /// Where the scan under way goes on; empty between scans.
    resume: HashMap<String, Position>,
    cycles: u32,
    last: Option<Instant>,
    took: Duration,
}

impl Recovery {
    pub(crate) fn new(names: Vec<String>, options: &Options) -> Self {
        Self {
            names,
            max_recoveries: options.max_recoveries,
            channel: options.channel.clone(),
            lease: options.lease.duration,
            poll_interval: options.poll_interval,
            resume: HashMap::new(),
            cycles: 0,
            last: None,
            took: Duration::ZERO,
        }
    }

    /// Counts a cycle of the poller; whether a recovery is due in it.
    pub(crate) fn due(&mut self) -> bool {
        self.cycles += 1;
        let Some(last) = self.last else { return true };
        let since = last.elapsed();
        since >= self.every()
            || (self.resume.is_empty()
                && self.cycles >= CYCLES
                && since >= Duration::from_secs(1).min(self.lease / 4))
    }

    /// How long the poller may sleep before a recovery is due whatever the cycles.
    pub(crate) fn due_in(&self) -> Duration {
        let since = self.last.map(|last| last.elapsed());
        since.map_or(Duration::ZERO, |since| self.every().saturating_sub(since))
    }

    /// The server refused it: the next begins anew, when it is due.
    pub(crate) fn put_off(&mut self) {
        self.resume.clear();
        self.cycles = 0;
        self.last = Some(Instant::now());
    }

    fn every(&self) -> Duration {
        if self.resume.is_empty() {
            self.lease.min(self.poll_interval.saturating_mul(10))
        } else {
            // A scan under way goes on at a tenth of the time.
            self.took * 10
        }
    }

    /// Looks at the next chunk of every handler, up to `until` (their positions: rows in flight lie
    /// before them). Whether records became due again.
    pub(crate) async fn run(
        &mut self,
        sessions: &Sessions,
        until: &HashMap<String, Position>,
    ) -> sqlx::Result<bool> {
        let started = Instant::now();
        let names: Vec<&str> = if self.resume.is_empty() {
            self.names.iter().map(String::as_str).collect()
        } else {
            self.resume.keys().map(String::as_str).collect()
        };
        let after: Vec<Position> = names
            .iter()
            .map(|name| self.resume.get(*name).copied().unwrap_or_default())
            .collect();
        let until: Vec<Position> = names
            .iter()
            .map(|name| until.get(*name).copied().unwrap_or(Position::END))
            .collect();
        let statement = sqlx::query(RECOVER)
            .bind(&names)
            .bind(after.iter().map(|p| p.at).collect::<Vec<_>>())
            .bind(after.iter().map(|p| p.id).collect::<Vec<_>>())
            .bind(until.iter().map(|p| p.at).collect::<Vec<_>>())
            .bind(CHUNK)
            .bind(self.max_recoveries)
            .bind(&self.channel);
        let rows = sessions.fetch(statement).await?;
        let mut resume = HashMap::new();
        let mut requeued: Option<Vec<Uuid>> = None;
        let mut failed: Option<Vec<Uuid>> = None;
        for row in &rows {
            // The same lists stand in every row.
            requeued = row.try_get("requeued")?;
            failed = row.try_get("failed")?;
            let count: Option<i64> = row.try_get("n")?;
            if count.is_some_and(|count| count >= i64::from(CHUNK)) {
                let position = Position {
                    at: row.try_get("last_at")?,
                    id: row.try_get("last_id")?,
                };
                resume.insert(row.try_get("name")?, position);
            }
        }
        self.resume = resume;
        self.cycles = 0;
        self.last = Some(Instant::now());
        self.took = started.elapsed();
        for id in failed.iter().flatten() {
            tracing::error!(
                record_id = %id,
                "outbox: a record lost its lease too often in a row and is FAILED",
            );
        }
        if let Some(requeued) = &requeued {
            tracing::warn!(
                records = requeued.len(),
                "outbox: recovered records whose lease had expired",
            );
        }
        Ok(requeued.is_some())
    }
}
