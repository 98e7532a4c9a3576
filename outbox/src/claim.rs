//! The poller: wakes, claims what is due for as many slots as are free, hands it to dispatch.

use std::borrow::Cow;
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
use crate::lease::Claims;
use crate::outage::Outage;
use crate::position::Position;
use crate::record::Claimed;
use crate::recover::Recovery;
use crate::session::Sessions;
use crate::settle::Settlements;
use crate::wake::Wake;

const CLAIM: &str = include_str!("sql/claim.sql");
const BIND: &str = include_str!("sql/bind.sql");
const UNBOUND_TYPES: &str = include_str!("sql/unbound_types.sql");

/// Where a claimed row's columns begin in each statement's answer.
const CLAIM_COLUMNS: usize = 3;
const BIND_COLUMNS: usize = 6;

/// A look from the beginning is never older than this.
const OLDEST_LOOK: Duration = Duration::from_secs(1);

/// Looks from the beginning are at least so far apart, and take at most a tenth of the time.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The handlers' records under one name, in the order of the claim's index.
#[derive(Debug)]
struct Lane {
    name: Arc<str>,
    /// Which of the runtime's handlers serves it.
    handler: usize,
    position: Position,
    /// More may be due behind the position.
    hungry: bool,
}

/// The unbound records of one event type.
#[derive(Debug)]
struct Unbound {
    event_type: Cow<'static, str>,
    max_retries: Option<i32>,
    position: Position,
}

/// How a claim came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// With all that it asked for: more may be due.
    Full,
    /// With less.
    Short,
}

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
    lanes: Vec<Lane>,
    lane_of: HashMap<String, usize>,
    /// First those that handlers name, then those that were met under their patterns.
    unbound: Vec<Unbound>,
    /// How many of them handlers name.
    named: usize,
    /// The handlers' patterns that end in `*`.
    patterns: Vec<&'static str>,
    /// When types were last looked for, and how long that took.
    types_looked: Option<(Instant, Duration)>,
    /// Unbound rows were seen, or may be there.
    unbound_due: bool,
    /// Which lane the odd slot goes to.
    turn: usize,
    looked: Option<Instant>,
    look_took: Duration,
    /// The last claim found less than it had room for.
    came_short: bool,
    /// A ring came that only a look from the beginning answers for certain.
    look_owed: bool,
    /// When to claim without being woken.
    due: Instant,
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
        let lane_of = names
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name.to_string(), i))
            .collect();
        let lane = |(name, handler)| Lane {
            name,
            handler,
            position: Position::default(),
            hungry: true,
        };
        let named = unbound.len();
        let open = |(event_type, max_retries)| Unbound {
            event_type: Cow::Borrowed(event_type),
            max_retries,
            position: Position::default(),
        };
        Self {
            means,
            recovery,
            lanes: names.into_iter().map(lane).collect(),
            lane_of,
            unbound: unbound.into_iter().map(open).collect(),
            named,
            patterns,
            types_looked: None,
            unbound_due: true,
            turn: 0,
            looked: None,
            look_took: Duration::ZERO,
            came_short: false,
            look_owed: true,
            due: Instant::now(),
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
        self.refused
    }

    /// One pass: claims what there is room for, recovers what is due. How long to sleep after it
    /// unless something wakes.
    async fn cycle(&mut self) -> sqlx::Result<Duration> {
        let paused = self.means.paused.load(Ordering::Acquire);
        if self.means.wake.take_ring() {
            self.look_owed = true;
            // New rows mostly lie behind the position: they don't wait for a look.
            self.lanes.iter_mut().for_each(|lane| lane.hungry = true);
        }
        if let Some(due) = self.means.wake.take_due() {
            self.due = self.due.min(due);
        }
        if self.recovery.due() && self.recover(paused).await? {
            self.look_owed = true;
        }
        if paused {
            // The backlog is looked at anew when it is over.
            self.look_owed = true;
            return Ok(self.recovery.longest());
        }
        if self.means.settlements.count() > 2 * self.means.batch_size {
            // Results come faster than they can be stored: more claims would only wait with them.
            return Ok(Duration::from_millis(10));
        }
        let look = self.look_is_due();
        if !look && !self.hungry() && Instant::now() < self.due {
            return Ok(self.nap());
        }
        let Some(mut room) = self.means.dispatcher.room() else {
            // A freed slot nudges.
            return Ok(self.recovery.longest());
        };
        if look || Instant::now() >= self.due {
            self.lanes.iter_mut().for_each(|lane| lane.hungry = true);
        }
        if look {
            self.meet_types().await?;
        }
        let bound = if self.unbound_due {
            self.bind(&mut room, look).await?
        } else {
            None
        };
        let asked = self.claim(&room, look).await?;
        match bound {
            // Rows that were passed over are bound by runtimes that run their handlers: no haste.
            Some(Came::Short) => self.unbound_due = false,
            Some(Came::Full) => self.unbound_due = true,
            None if !asked => return Ok(self.recovery.longest()),
            None => {}
        }
        Ok(self.nap())
    }

    fn hungry(&self) -> bool {
        self.unbound_due || self.lanes.iter().any(|lane| lane.hungry)
    }

    /// How long nothing needs to be done.
    fn nap(&self) -> Duration {
        if self.hungry() {
            return Duration::ZERO;
        }
        let now = Instant::now();
        let mut due = self.due;
        if self.look_owed
            && let Some(looked) = self.looked
        {
            due = due.min(looked + self.between_looks());
        }
        due.saturating_duration_since(now)
            .min(self.recovery.longest())
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
        let timed = self.hungry() || Instant::now() >= self.due;
        (since >= self.between_looks() && (self.look_owed || (self.came_short && timed)))
            || (since >= OLDEST_LOOK && timed)
    }

    async fn recover(&mut self, paused: bool) -> sqlx::Result<bool> {
        let until = if paused {
            HashMap::new()
        } else {
            self.lanes
                .iter()
                .map(|lane| (lane.name.to_string(), lane.position))
                .collect()
        };
        // At the start nothing has a position yet: then everything due is looked at.
        let until = if self.looked.is_none() {
            HashMap::new()
        } else {
            until
        };
        self.recovery.run(&self.means.sessions, &until).await
    }

    /// Looks which types stand on unbound rows that a handler takes by a pattern: those that plain
    /// SQL wrote, or a producer before the handler subscribed.
    async fn meet_types(&mut self) -> sqlx::Result<()> {
        let recently = |(at, took): (Instant, Duration)| at.elapsed() < took * 10;
        if self.patterns.is_empty() || self.types_looked.is_some_and(recently) {
            return Ok(());
        }
        let started = Instant::now();
        let statement = sqlx::query(UNBOUND_TYPES).bind(&self.patterns);
        let rows = self.means.sessions.fetch(statement).await?;
        self.types_looked = Some((Instant::now(), started.elapsed()));
        let mut met = self.unbound.split_off(self.named);
        for row in &rows {
            let event_type: &str = row.try_get(0)?;
            if self.unbound.iter().any(|u| u.event_type == event_type) {
                continue;
            }
            let known = met.iter().position(|met| met.event_type == event_type);
            self.unbound.push(match known {
                Some(known) => met.swap_remove(known),
                None => {
                    self.unbound_due = true;
                    Unbound {
                        event_type: Cow::Owned(event_type.to_owned()),
                        max_retries: None,
                        position: Position::default(),
                    }
                }
            });
        }
        Ok(())
    }

    /// Claims for the handlers' lanes.
    /// `false`: there was no slot for any that may have due rows.
    async fn claim(&mut self, room: &Room, look: bool) -> sqlx::Result<bool> {
        let slots = self.share(room);
        let chosen: Vec<(usize, usize)> = slots
            .into_iter()
            .enumerate()
            .filter(|(_, slots)| *slots > 0)
            .collect();
        if chosen.is_empty() {
            return Ok(false);
        }
        let token = Uuid::now_v7();
        let names: Vec<&str> = chosen
            .iter()
            .map(|(lane, _)| &*self.lanes[*lane].name)
            .collect();
        let counts: Vec<i32> = chosen
            .iter()
            .map(|(_, slots)| i32::try_from(*slots).unwrap_or(i32::MAX))
            .collect();
        let after = |lane: &Lane| {
            if look {
                Position::default()
            } else {
                lane.position
            }
        };
        let positions: Vec<Position> = chosen
            .iter()
            .map(|(lane, _)| after(&self.lanes[*lane]))
            .collect();
        let types: Vec<&str> = self
            .unbound
            .iter()
            .map(|unbound| &*unbound.event_type)
            .collect();
        let statement = sqlx::query(CLAIM)
            .bind(&names)
            .bind(&counts)
            .bind(positions.iter().map(|p| p.at).collect::<Vec<_>>())
            .bind(positions.iter().map(|p| p.id).collect::<Vec<_>>())
            .bind(token)
            .bind(ms(self.means.lease))
            .bind(&self.means.worker)
            .bind(room.suspect)
            .bind(&types);
        let started = Instant::now();
        let rows = self.means.sessions.fetch(statement).await?;
        if look {
            self.note_look(started);
        }

        let Some(first) = rows.first() else {
            return Ok(true);
        };
        let now: DateTime<Utc> = first.try_get(0)?;
        self.unbound_due = first.try_get(1)?;
        let next_due_ms: Option<f64> = first.try_get(2)?;
        let mut picked = vec![(0_usize, Position::default()); self.lanes.len()];
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(id) = row.try_get::<Option<Uuid>, _>(CLAIM_COLUMNS)? else {
                continue;
            };
            let name: &str = row.try_get(CLAIM_COLUMNS + 1)?;
            let Some(&lane) = self.lane_of.get(name) else {
                continue;
            };
            let at = Position {
                at: row.try_get(CLAIM_COLUMNS + 2)?,
                id,
            };
            let (count, last) = &mut picked[lane];
            *count += 1;
            *last = at.max(*last);
            // A suspect that was passed over has no event.
            if row.try_get::<Option<Uuid>, _>(CLAIM_COLUMNS + 3)?.is_some() {
                claimed.push((at, lane, self.read(row, CLAIM_COLUMNS, lane)?));
            }
        }
        let mut short = true;
        for (lane, slots) in chosen {
            let (count, last) = picked[lane];
            let lane = &mut self.lanes[lane];
            lane.hungry = count >= slots;
            short &= !lane.hungry;
            lane.position = if lane.hungry {
                last
            } else {
                Position::seen_all(now)
            };
        }
        self.came_short = short;
        let until = next_due_ms.map_or(self.means.poll_interval, |ms| {
            Duration::from_secs_f64((ms / 1000.0).clamp(0.0, 1e6)).min(self.means.poll_interval)
        });
        self.due = Instant::now() + until;
        // In the order of their dues, each handler's fairly among the others'.
        claimed.sort_by_key(|(at, ..)| *at);
        let deliveries = claimed
            .into_iter()
            .map(|(_, lane, record)| (lane, record))
            .collect();
        self.hand_over(deliveries, token, started);
        Ok(true)
    }

    /// Claims unbound rows and binds them, with half of the room, so that neither arm starves the
    /// other. `None`: there was no slot.
    async fn bind(&mut self, room: &mut Room, look: bool) -> sqlx::Result<Option<Came>> {
        let slots = room.free.div_ceil(2).min(self.means.batch_size);
        if slots == 0 {
            return Ok(None);
        }
        let each = share_evenly(slots, self.unbound.len(), self.turn);
        let chosen: Vec<usize> = (0..each.len()).filter(|i| each[*i] > 0).collect();
        let token = Uuid::now_v7();
        let after = |unbound: &Unbound| {
            if look {
                Position::default()
            } else {
                unbound.position
            }
        };
        let positions: Vec<Position> = chosen.iter().map(|i| after(&self.unbound[*i])).collect();
        let mine: Vec<&str> = self.lanes.iter().map(|lane| &*lane.name).collect();
        let statement = sqlx::query(BIND)
            .bind(
                chosen
                    .iter()
                    .map(|i| &*self.unbound[*i].event_type)
                    .collect::<Vec<_>>(),
            )
            .bind(
                chosen
                    .iter()
                    .map(|i| i32::try_from(each[*i]).unwrap_or(i32::MAX))
                    .collect::<Vec<_>>(),
            )
            .bind(positions.iter().map(|p| p.at).collect::<Vec<_>>())
            .bind(positions.iter().map(|p| p.id).collect::<Vec<_>>())
            .bind(
                chosen
                    .iter()
                    .map(|i| self.unbound[*i].max_retries)
                    .collect::<Vec<_>>(),
            )
            .bind(token)
            .bind(ms(self.means.lease))
            .bind(&self.means.worker)
            .bind(&mine)
            .bind(self.means.max_retries)
            .bind(&self.means.channel);
        let started = Instant::now();
        let rows = self.means.sessions.fetch(statement).await?;

        let mut picked: HashMap<&str, (usize, Position)> = HashMap::new();
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(event_type) = row.try_get::<Option<&str>, _>(3)? else {
                continue;
            };
            let at = Position {
                at: row.try_get(4)?,
                id: row.try_get(5)?,
            };
            let (count, last) = picked.entry(event_type).or_default();
            *count += 1;
            *last = at.max(*last);
            if row.try_get::<Option<Uuid>, _>(BIND_COLUMNS)?.is_some() {
                let name: &str = row.try_get(BIND_COLUMNS + 1)?;
                let Some(&lane) = self.lane_of.get(name) else {
                    continue;
                };
                claimed.push((at, lane, self.read(row, BIND_COLUMNS, lane)?));
            }
        }
        let mut came = Came::Short;
        if let Some(first) = rows.first() {
            let now: DateTime<Utc> = first.try_get(0)?;
            let siblings: i64 = first.try_get(2)?;
            if siblings > 0 {
                self.lanes.iter_mut().for_each(|lane| lane.hungry = true);
            }
            for i in chosen {
                let unbound = &mut self.unbound[i];
                let (count, last) = picked
                    .get(&*unbound.event_type)
                    .copied()
                    .unwrap_or_default();
                let full = count >= each[i];
                unbound.position = if full { last } else { Position::seen_all(now) };
                if full {
                    came = Came::Full;
                }
            }
        }
        claimed.sort_by_key(|(at, ..)| *at);
        let taken = claimed.len();
        let deliveries = claimed
            .into_iter()
            .map(|(_, lane, record)| (lane, record))
            .collect();
        self.hand_over(deliveries, token, started);
        room.free = room.free.saturating_sub(taken);
        Ok(Some(came))
    }

    fn note_look(&mut self, started: Instant) {
        self.looked = Some(Instant::now());
        self.look_took = started.elapsed();
        self.look_owed = false;
    }

    fn hand_over(&mut self, records: Vec<(usize, Claimed)>, token: Uuid, started: Instant) {
        if records.is_empty() {
            return;
        }
        let deadline = started + self.means.lease;
        let ids = records.iter().map(|(_, record)| Uuid::from(record.id));
        let lost = self.means.claims.hold(ids, token, deadline);
        let deliveries = records
            .into_iter()
            .zip(lost)
            .map(|((lane, record), lost)| Delivery {
                record: Arc::new(record),
                token,
                handler: self.lanes[lane].handler,
                lost,
            })
            .collect();
        // What shutdown refuses stays in hand until it is released.
        self.refused.extend(self.means.dispatcher.push(deliveries));
    }

    /// Shares the room among the lanes that have due rows, as far as is known.
    fn share(&mut self, room: &Room) -> Vec<usize> {
        let hungry: Vec<usize> = (0..self.lanes.len())
            .filter(|lane| self.lanes[*lane].hungry)
            .collect();
        let free = share_evenly(room.free, hungry.len(), self.turn);
        let most = share_evenly(self.means.batch_size, hungry.len(), self.turn);
        let mut slots = vec![0; self.lanes.len()];
        for ((lane, free), most) in hungry.iter().zip(free).zip(most) {
            let ahead = room
                .ahead
                .get(self.lanes[*lane].handler)
                .copied()
                .unwrap_or(0);
            slots[*lane] = (free + ahead / hungry.len()).min(most);
        }
        self.turn = self.turn.wrapping_add(1);
        slots
    }

    fn read(&self, row: &PgRow, base: usize, lane: usize) -> sqlx::Result<Claimed> {
        Ok(Claimed {
            id: row.try_get(base)?,
            handler: Arc::clone(&self.lanes[lane].name),
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

/// `total` in `parts` that differ by one at most; the odd ones go to those whose `turn` it is.
fn share_evenly(total: usize, parts: usize, turn: usize) -> Vec<usize> {
    if parts == 0 {
        return Vec::new();
    }
    let (each, odd) = (total / parts, total % parts);
    (0..parts)
        .map(|part| each + usize::from((part + parts - turn % parts) % parts < odd))
        .collect()
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_shared_exactly_and_in_turn() {
        assert_eq!(share_evenly(64, 3, 0), [22, 21, 21]);
        assert_eq!(share_evenly(64, 3, 1), [21, 22, 21]);
        assert_eq!(share_evenly(2, 3, 2), [1, 0, 1]);
        assert_eq!(share_evenly(0, 3, 0), [0, 0, 0]);
        assert_eq!(share_evenly(5, 0, 0), [0; 0]);
        for turn in 0..10 {
            assert_eq!(share_evenly(7, 4, turn).iter().sum::<usize>(), 7);
        }
    }
}
