//! The poller: wakes, claims what is due for as many slots as are free, hands it to dispatch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::Row;
use sqlx::postgres::PgRow;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::dispatch::{Delivery, Dispatcher, Room};
use crate::lanes::{Came, Lanes};
use crate::lease::Claims;
use crate::outage::Outage;
use crate::pattern::candidates;
use crate::position::Position;
use crate::record::Claimed;
use crate::recover::Recovery;
use crate::session::{Sessions, Statement, refuses_data};
use crate::settle::Settlements;
use crate::wake::Wake;

const CLAIM: &str = include_str!("sql/claim.sql");
const BIND: &str = include_str!("sql/bind.sql");
const RECLAIM: &str = include_str!("sql/reclaim.sql");
const UNBOUND_TYPES: &str = include_str!("sql/unbound_types.sql");

/// Where a claimed row's columns begin in each statement's answer.
const CLAIM_COLUMNS: usize = 3;
const BIND_COLUMNS: usize = 6;

/// A look from the beginning is never older than this.
const OLDEST_LOOK: Duration = Duration::from_secs(1);

/// Looks from the beginning are at least so far apart, and take at most a tenth of the time.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What a poller needs to know and to reach.
#[derive(Debug)]
pub(crate) struct Means {
    pub(crate) sessions: Sessions,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) settlements: Arc<Settlements>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) paused: Arc<AtomicBool>,
    pub(crate) stopping: CancellationToken,
    pub(crate) poll_interval: Duration,
    pub(crate) batch_size: usize,
    pub(crate) lease: Duration,
    pub(crate) worker: String,
    pub(crate) channel: String,
    /// For records that are bound here and have no limit from elsewhere.
    pub(crate) max_retries: Option<i32>,
}

/// The claim loop of a runtime.
#[derive(Debug)]
pub(crate) struct Poller {
    means: Means,
    recovery: Recovery,
    recovering: Outage,
    binding: Outage,
    /// When the next binding is tried, after one that the server refused.
    bind_after: Instant,
    /// One for each name that records of this runtime's handlers stand under.
    lanes: Lanes,
    /// Which of the runtime's handlers serves each of them.
    handlers: Vec<usize>,
    /// One for each event type of which rows may be unbound: first those that handlers name, then
    /// those that were met under their patterns.
    unbound: Lanes,
    /// The own limits of the types that handlers name.
    limits: Vec<Option<i32>>,
    /// The handlers' patterns that end in `*`.
    patterns: Vec<&'static str>,
    /// Unbound rows were seen, or may be there.
    unbound_due: bool,
    looked: Option<Instant>,
    look_took: Duration,
    /// How the last claim came back.
    came: Came,
    /// A ring came that only a look from the beginning answers for certain.
    look_owed: bool,
    /// Suspects were passed over: a look from the beginning is owed once one may start.
    suspects_wait: bool,
    /// Tokens of claims whose replies were lost: the server may have made them all the same.
    doubtful: Vec<Uuid>,
    /// Claims that came when shutdown had begun.
    refused: Vec<(Uuid, Uuid)>,
}

impl Poller {
    /// `names`: what each handler's records may stand under, its former names included.
    /// `unbound`: the event types of the handlers with the types' own limits. `patterns`: those of
    /// their patterns that end in `*`.
    pub(crate) fn new(
        means: Means,
        recovery: Recovery,
        names: Vec<(Arc<str>, usize)>,
        unbound: Vec<(&'static str, Option<i32>)>,
        patterns: Vec<&'static str>,
    ) -> Self {
        let (names, handlers): (Vec<_>, Vec<_>) = names.into_iter().unzip();
        let (types, limits): (Vec<_>, Vec<_>) = unbound.into_iter().unzip();
        Self {
            means,
            recovery,
            recovering: Outage::none("recovering records"),
            binding: Outage::none("binding records"),
            bind_after: Instant::now(),
            lanes: Lanes::new(names),
            handlers,
            unbound_due: !types.is_empty(),
            unbound: Lanes::new(types.into_iter().map(Arc::from)),
            limits,
            patterns,
            looked: None,
            look_took: Duration::ZERO,
            came: Came::Full,
            look_owed: true,
            suspects_wait: false,
            doubtful: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Polls until shutdown begins. A statement under way is always waited for: a claim whose reply
    /// nobody reads still happens on the server.
    ///
    /// Returns what was claimed when dispatch took nothing any more.
    pub(crate) async fn run(mut self) -> Vec<(Uuid, Uuid)> {
        let mut outage = Outage::none("claiming");
        while !self.means.stopping.is_cancelled() {
            let wait = match self.cycle().await {
                Ok(wait) => {
                    outage.over();
                    wait
                }
                Err(error) => {
                    // Rings are kept; nothing but the wait ends the wait.
                    let wait = outage.failed(&error);
                    self.look_owed = true;
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = self.means.stopping.cancelled() => {}
                    }
                    Duration::ZERO
                }
            };
            tokio::select! {
                biased;
                () = self.means.stopping.cancelled() => {}
                () = self.means.wake.heard() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        if !self.doubtful.is_empty()
            && let Err(error) = self.reclaim().await
        {
            let _ = outage.failed(&error);
        }
        self.refused
    }

    /// One pass: claims what there is room for, recovers what is due. How long to sleep after it
    /// unless something wakes.
    async fn cycle(&mut self) -> sqlx::Result<Duration> {
        let paused = self.means.paused.load(Ordering::Acquire);
        if self.means.wake.take_ring() {
            self.look_owed = true;
            // New rows mostly lie behind the position: they don't wait for a look.
            self.lanes.wake_all();
        }
        if let Some(due) = self.means.wake.take_due() {
            self.lanes.due_by(due);
        }
        if self.suspects_wait && self.means.dispatcher.suspect_may_start() {
            self.suspects_wait = false;
            self.look_owed = true;
        }
        if !self.doubtful.is_empty() && self.reclaim().await? {
            self.look_owed = true;
        }
        if self.recovery.due() && self.recover(paused).await? {
            self.look_owed = true;
        }
        if paused {
            // The backlog is looked at anew when it is over.
            self.look_owed = true;
            return Ok(self.recovery.due_in());
        }
        if self.means.settlements.count() > 2 * self.means.batch_size {
            // Results come faster than they can be stored: more claims would only wait with them.
            return Ok(Duration::from_millis(10));
        }
        let look = self.look_is_due();
        if !look && !self.hungry() && Instant::now() < self.lanes.due() {
            return Ok(self.nap());
        }
        let Some(mut room) = self.means.dispatcher.room() else {
            // A freed slot nudges.
            return Ok(self.recovery.due_in());
        };
        // The types belong to the look: it is one whole that is done seldom enough.
        let look = look.then(Instant::now);
        if look.is_some() {
            self.lanes.look_all();
            self.unbound.look_all();
            self.meet_types().await?;
        } else {
            self.lanes.wake_due(Instant::now());
        }
        let left = if self.unbound_due {
            self.try_bind(&mut room).await?
        } else {
            None
        };
        let asked = self.claim(&room, look).await?;
        match left {
            Some(left) => self.unbound_due = left,
            // Nothing could be asked for, or nothing but rows to bind is left and there is no slot: a
            // freed one nudges.
            None if !asked || (room.free == 0 && !self.lanes.hungry()) => {
                return Ok(self.recovery.due_in());
            }
            None => {}
        }
        Ok(self.nap())
    }

    fn hungry(&self) -> bool {
        self.unbound_due || self.lanes.hungry()
    }

    /// How long nothing needs to be done.
    fn nap(&self) -> Duration {
        if self.hungry() {
            return Duration::ZERO;
        }
        let now = Instant::now();
        let mut due = self.lanes.due();
        if self.look_owed
            && let Some(looked) = self.looked
        {
            due = due.min(looked + self.between_looks());
        }
        due.saturating_duration_since(now)
            .min(self.recovery.due_in())
    }

    fn between_looks(&self) -> Duration {
        BETWEEN_LOOKS.max(self.look_took * 10)
    }

    /// Whether this claim looks from the beginning: for what was committed late, released,
    /// recovered or retried by hand behind the position.
    fn look_is_due(&self) -> bool {
        let Some(looked) = self.looked else {
            return true;
        };
        let since = looked.elapsed();
        let timed = self.hungry() || Instant::now() >= self.lanes.due();
        (since >= self.between_looks() && (self.look_owed || (self.came == Came::Short && timed)))
            || (since >= OLDEST_LOOK && timed)
    }

    async fn recover(&mut self, paused: bool) -> sqlx::Result<bool> {
        // Rows in flight lie before the positions, which mean nothing before the first look and
        // stand still in a pause: then everything due is looked at.
        let until = if paused || self.looked.is_none() {
            HashMap::new()
        } else {
            self.lanes.positions()
        };
        match self.recovery.run(&self.means.sessions, &until).await {
            Ok(requeued) => {
                self.recovering.over();
                Ok(requeued)
            }
            // The server works: what keeps a record from being recovered, such as a trigger of the
            // application's, keeps nobody else from being claimed.
            Err(error) if error.as_database_error().is_some() => {
                let _ = self.recovering.failed(&error);
                self.recovery.put_off();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a statement that claims. When its reply is lost, what it may have claimed is kept in
    /// mind.
    async fn fetch_claim(
        &mut self,
        statement: Statement<'_>,
        token: Uuid,
    ) -> sqlx::Result<Vec<PgRow>> {
        let result = self.means.sessions.fetch(statement).await;
        if let Err(error) = &result
            && error.as_database_error().is_none()
        {
            self.doubtful.push(token);
        }
        result
    }

    /// Gives back what claims took whose replies were lost, instead of waiting for its leases to
    /// run out. Whether there was any.
    async fn reclaim(&mut self) -> sqlx::Result<bool> {
        let statement = sqlx::query(RECLAIM)
            .bind(self.lanes.names())
            .bind(&self.doubtful)
            .bind(&self.means.channel);
        let rows = match self.means.sessions.fetch(statement).await {
            Err(error) if refuses_data(&error) => {
                tracing::warn!(
                    error = crate::error_text::chain(&error),
                    "outbox: claims whose reply was lost could not be given back; they end with their leases",
                );
                Vec::new()
            }
            result => result?,
        };
        self.doubtful.clear();
        let records: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        if records > 0 {
            tracing::info!(records, "outbox: gave back claims whose reply was lost");
        }
        Ok(records > 0)
    }

    /// Looks which types stand on unbound rows that a handler takes by a pattern: those that plain
    /// SQL wrote, or a producer before the handler subscribed.
    async fn meet_types(&mut self) -> sqlx::Result<()> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        let statement = sqlx::query(UNBOUND_TYPES).bind(&self.patterns);
        let rows = self.means.sessions.fetch(statement).await?;
        let types: Vec<&str> = rows
            .iter()
            .map(|row| row.try_get(0))
            .collect::<sqlx::Result<_>>()?;
        self.unbound_due |= self.unbound.meet(self.limits.len(), &types);
        Ok(())
    }

    /// Claims for the handlers' lanes. `false`: there was no slot for any that may have due rows.
    /// `look`: when the look from the beginning began that this is part of.
    async fn claim(&mut self, room: &Room, look: Option<Instant>) -> sqlx::Result<bool> {
        let handlers = &self.handlers;
        let ahead = |lane: usize| room.ahead(handlers[lane]);
        let mut ask = self.lanes.share(room.free, ahead, self.means.batch_size);
        if ask.is_empty() {
            return Ok(false);
        }
        let token = Uuid::now_v7();
        let statement = sqlx::query(CLAIM)
            .bind(ask.names())
            .bind(&ask.slots)
            .bind(&ask.at)
            .bind(&ask.ids)
            .bind(token)
            .bind(ms(self.means.lease))
            .bind(&self.means.worker)
            .bind(room.suspect)
            .bind(self.unbound.names());
        let started = Instant::now();
        let rows = self.fetch_claim(statement, token).await?;
        if let Some(begun) = look {
            self.note_look(begun);
        } else if ask.looks {
            // The rest of the last look, for lanes that had no slot in it.
            self.look_took += started.elapsed();
        }

        let Some(first) = rows.first() else {
            return Ok(true);
        };
        let now: DateTime<Utc> = first.try_get(0)?;
        self.unbound_due = first.try_get(1)?;
        let next_due_ms: Option<f64> = first.try_get(2)?;
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(id) = row.try_get::<Option<Uuid>, _>(CLAIM_COLUMNS)? else {
                continue;
            };
            let Some(lane) = self.lanes.find(row.try_get(CLAIM_COLUMNS + 1)?) else {
                continue;
            };
            let at = Position {
                at: row.try_get(CLAIM_COLUMNS + 2)?,
                id,
            };
            ask.picked(lane, at);
            // A suspect that was passed over has no event.
            if row.try_get::<Option<Uuid>, _>(CLAIM_COLUMNS + 3)?.is_some() {
                claimed.push((at, lane, self.read(row, CLAIM_COLUMNS, lane)?));
            } else {
                self.suspects_wait = true;
            }
        }
        self.came = self.lanes.note(&ask, now);
        let until = next_due_ms.map_or(self.means.poll_interval, |ms| {
            Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 1e6)).min(self.means.poll_interval)
        });
        self.lanes.put_off(&ask, Instant::now() + until);
        self.hand_over(claimed, token, started);
        Ok(true)
    }

    /// As [`bind`](Self::bind). What the server refuses to bind, such as by a trigger of the
    /// application's, keeps nobody else from being claimed.
    async fn try_bind(&mut self, room: &mut Room) -> sqlx::Result<Option<bool>> {
        if Instant::now() < self.bind_after {
            return Ok(Some(false));
        }
        match self.bind(room).await {
            Err(error) if refuses_data(&error) => {
                self.bind_after = Instant::now() + self.binding.failed(&error);
                Ok(Some(false))
            }
            result => {
                if result.is_ok() {
                    self.binding.over();
                }
                result
            }
        }
    }

    /// Claims unbound rows and binds them, with half of the room, so that neither arm starves the
    /// other. Whether more may be there for this runtime; `None`: there was no slot.
    async fn bind(&mut self, room: &mut Room) -> sqlx::Result<Option<bool>> {
        let slots = (room.free + room.soon).div_ceil(2);
        let slots = slots.min(self.means.batch_size);
        if !self.unbound.hungry() {
            // A new round. With more types than slots it takes several statements.
            self.unbound.wake_all();
        }
        let mut ask = self.unbound.share(slots, |_| 0, slots);
        if ask.is_empty() {
            return Ok(None);
        }
        let token = Uuid::now_v7();
        let limits: Vec<Option<i32>> = ask
            .lanes
            .iter()
            .map(|lane| self.limits.get(*lane).copied().flatten())
            .collect();
        let (of_type, candidates): (Vec<&str>, Vec<String>) = ask
            .names()
            .into_iter()
            .flat_map(|name| {
                candidates(name)
                    .into_iter()
                    .map(move |pattern| (name, pattern))
            })
            .unzip();
        let statement = sqlx::query(BIND)
            .bind(ask.names())
            .bind(&ask.slots)
            .bind(&ask.at)
            .bind(&ask.ids)
            .bind(limits)
            .bind(token)
            .bind(ms(self.means.lease))
            .bind(&self.means.worker)
            .bind(self.lanes.names())
            .bind(self.means.max_retries)
            .bind(&self.means.channel)
            .bind(of_type)
            .bind(candidates);
        let started = Instant::now();
        let rows = self.fetch_claim(statement, token).await?;

        let Some(first) = rows.first() else {
            return Ok(Some(false));
        };
        let now: DateTime<Utc> = first.try_get(0)?;
        let siblings: i64 = first.try_get(2)?;
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(event_type) = row.try_get::<Option<&str>, _>(3)? else {
                continue;
            };
            let at = Position {
                at: row.try_get(4)?,
                id: row.try_get(5)?,
            };
            if let Some(lane) = self.unbound.find(event_type) {
                ask.picked(lane, at);
            }
            if row.try_get::<Option<Uuid>, _>(BIND_COLUMNS)?.is_some()
                && let Some(lane) = self.lanes.find(row.try_get(BIND_COLUMNS + 1)?)
            {
                claimed.push((at, lane, self.read(row, BIND_COLUMNS, lane)?));
            }
        }
        if siblings > 0 {
            self.lanes.wake_all();
        }
        let late = !ask.looks && ask.none_picked();
        room.take(claimed.len());
        self.hand_over(claimed, token, started);
        let full = self.unbound.note(&ask, now) == Came::Full;
        if late {
            // Some were seen, but they lie before the positions.
            self.unbound.look_all();
        }
        // Rows that were passed over are bound by runtimes that run their handlers: no haste. Types that
        // had no slot yet were not passed over.
        Ok(Some(full || late || self.unbound.hungry()))
    }

    fn note_look(&mut self, begun: Instant) {
        self.looked = Some(Instant::now());
        self.look_took = begun.elapsed();
        self.look_owed = false;
    }

    /// Takes claimed records in hand and gives them to dispatch, the longest due first.
    fn hand_over(
        &mut self,
        mut claimed: Vec<(Position, usize, Claimed)>,
        token: Uuid,
        started: Instant,
    ) {
        if claimed.is_empty() {
            return;
        }
        claimed.sort_by_key(|(at, ..)| *at);
        let deadline = started + self.means.lease;
        let ids = claimed.iter().map(|(_, _, record)| Uuid::from(record.id));
        let lost = self.means.claims.hold(ids, token, deadline);
        let deliveries = claimed
            .into_iter()
            .zip(lost)
            .map(|((_, lane, record), lost)| Delivery {
                record: Arc::new(record),
                token,
                handler: self.handlers[lane],
                lost,
            })
            .collect();
        // What shutdown refuses stays in hand until it is released.
        self.refused.extend(self.means.dispatcher.push(deliveries));
    }

    fn read(&self, row: &PgRow, base: usize, lane: usize) -> sqlx::Result<Claimed> {
        Ok(Claimed {
            id: row.try_get(base)?,
            handler: Arc::clone(self.lanes.name(lane)),
            event_id: row.try_get(base + 3)?,
            event_type: row.try_get(base + 4)?,
            payload: row.try_get(base + 5)?,
            headers: row.try_get(base + 6)?,
            retry_count: row.try_get(base + 7)?,
            max_retries: row.try_get(base + 8)?,
            recovery_count: row.try_get(base + 9)?,
            created_at: row.try_get(base + 10)?,
            occurred_at: row.try_get(base + 11)?,
            tenant_id: row.try_get(base + 12)?,
            correlation_id: row.try_get(base + 13)?,
            causation_id: row.try_get(base + 14)?,
        })
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
