//! How a claim's slots are shared, and how far it has come, lane by lane.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::position::Position;

/// Records that stand together in a claim's index: those of one handler name, or the unbound ones
/// of one event type.
#[derive(Debug)]
struct Lane {
    name: Arc<str>,
    position: Position,
    /// More may be due behind the position.
    hungry: bool,
    /// The next claim looks from the beginning. Each lane has its own: where there are more lanes
    /// than slots, a look reaches some of them only with the claims that follow.
    look: bool,
    /// When to look without being woken. Each lane has its own: a statement that did not ask for a
    /// lane does not know when its rows are due.
    due: Instant,
}

impl Lane {
    /// One that nobody has looked at yet.
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            position: Position::default(),
            hungry: true,
            look: true,
            due: Instant::now(),
        }
    }
}

/// The lanes of one arm of the claim.
#[derive(Debug)]
pub(crate) struct Lanes {
    each: Vec<Lane>,
    by_name: HashMap<Arc<str>, usize>,
    /// Which lane the odd slot goes to.
    turn: usize,
}

/// How a claim came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// With all that it asked for, on some lane: more may be due.
    Full,
    /// With less.
    Short,
}

/// What one statement asks for: as many entries in each list as lanes that get a slot.
#[derive(Debug, Default)]
pub(crate) struct Ask {
    pub(crate) lanes: Vec<usize>,
    names: Vec<Arc<str>>,
    pub(crate) slots: Vec<i32>,
    pub(crate) at: Vec<DateTime<Utc>>,
    pub(crate) ids: Vec<Uuid>,
    /// Some of it from the beginning.
    pub(crate) looks: bool,
    /// For every lane, asked or not: rows that came, and the last of them.
    picked: Vec<(usize, Position)>,
}

impl Ask {
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.names.iter().map(|name| &**name).collect()
    }

    /// Whether no row came for any lane.
    pub(crate) fn none_picked(&self) -> bool {
        self.picked.iter().all(|(count, _)| *count == 0)
    }

    /// A row came for this lane.
    pub(crate) fn picked(&mut self, lane: usize, at: Position) {
        if let Some((count, last)) = self.picked.get_mut(lane) {
            *count += 1;
            *last = at.max(*last);
        }
    }
}

impl Lanes {
    pub(crate) fn new(names: impl IntoIterator<Item = Arc<str>>) -> Self {
        let mut lanes = Self {
            each: Vec::new(),
            by_name: HashMap::new(),
            turn: 0,
        };
        names
            .into_iter()
            .for_each(|name| lanes.add(Lane::new(name)));
        lanes
    }

    fn add(&mut self, lane: Lane) {
        self.by_name.insert(Arc::clone(&lane.name), self.each.len());
        self.each.push(lane);
    }

    /// Keeps the first `count` lanes and has one for each of `names` besides. Whether there are new
    /// ones.
    pub(crate) fn meet(&mut self, count: usize, names: &[&str]) -> bool {
        let mut met: HashMap<Arc<str>, Lane> = self
            .each
            .drain(count..)
            .map(|lane| (Arc::clone(&lane.name), lane))
            .collect();
        self.by_name.retain(|_, lane| *lane < count);
        let mut new = false;
        for name in names {
            if self.by_name.contains_key(*name) {
                continue;
            }
            let lane = met.remove(*name).unwrap_or_else(|| {
                new = true;
                Lane::new(Arc::from(*name))
            });
            self.add(lane);
        }
        new
    }

    /// Every lane is to be looked at from the beginning.
    pub(crate) fn look_all(&mut self) {
        let lanes = self.each.iter_mut();
        lanes.for_each(|lane| (lane.look, lane.hungry) = (true, true));
    }

    /// Rows may be due on every lane.
    pub(crate) fn wake_all(&mut self) {
        self.each.iter_mut().for_each(|lane| lane.hungry = true);
    }

    /// Rows may be due on the lanes whose time has come.
    pub(crate) fn wake_due(&mut self, now: Instant) {
        for lane in &mut self.each {
            lane.hungry |= lane.due <= now;
        }
    }

    /// When the first lane is to be looked at without being woken.
    pub(crate) fn due(&self) -> Instant {
        let dues = self.each.iter().map(|lane| lane.due);
        dues.min().unwrap_or_else(Instant::now)
    }

    /// A row is due at `due`, on which lane is not known.
    pub(crate) fn due_by(&mut self, due: Instant) {
        let lanes = self.each.iter_mut();
        lanes.for_each(|lane| lane.due = lane.due.min(due));
    }

    /// Nothing more is due before `due` on the lanes that were asked.
    pub(crate) fn put_off(&mut self, ask: &Ask, due: Instant) {
        for lane in &ask.lanes {
            self.each[*lane].due = due;
        }
    }

    pub(crate) fn hungry(&self) -> bool {
        self.each.iter().any(|lane| lane.hungry)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn name(&self, lane: usize) -> &Arc<str> {
        &self.each[lane].name
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.each.iter().map(|lane| &*lane.name).collect()
    }

    pub(crate) fn positions(&self) -> HashMap<String, Position> {
        let pair = |lane: &Lane| (lane.name.to_string(), lane.position);
        self.each.iter().map(pair).collect()
    }

    /// Shares `free` slots evenly among the hungry lanes, in turn, and adds to each its part of
    /// what it may look `ahead`; at most `most` in all.
    pub(crate) fn share(
        &mut self,
        free: usize,
        ahead: impl Fn(usize) -> usize,
        most: usize,
    ) -> Ask {
        let hungry: Vec<usize> = (0..self.each.len())
            .filter(|lane| self.each[*lane].hungry)
            .collect();
        let turn = self.turn;
        self.turn = self.turn.wrapping_add(1);
        let mut ask = Ask {
            picked: vec![(0, Position::default()); self.each.len()],
            ..Ask::default()
        };
        for (part, lane) in hungry.iter().copied().enumerate() {
            let share = |total| share(total, hungry.len(), part, turn);
            let slots = (share(free) + share(ahead(lane))).min(share(most));
            if slots == 0 {
                continue;
            }
            ask.looks |= self.each[lane].look;
            let after = if self.each[lane].look {
                Position::default()
            } else {
                self.each[lane].position
            };
            ask.lanes.push(lane);
            ask.names.push(Arc::clone(&self.each[lane].name));
            ask.slots.push(i32::try_from(slots).unwrap_or(i32::MAX));
            ask.at.push(after.at);
            ask.ids.push(after.id);
        }
        ask
    }

    /// Takes note of what came: a full lane goes on behind its last row, a short one has seen all
    /// that was due at `now`.
    pub(crate) fn note(&mut self, ask: &Ask, now: DateTime<Utc>) -> Came {
        let mut came = Came::Short;
        for (lane, slots) in ask.lanes.iter().zip(&ask.slots) {
            let (count, last) = ask.picked[*lane];
            let lane = &mut self.each[*lane];
            lane.look = false;
            lane.hungry = i32::try_from(count).unwrap_or(i32::MAX) >= *slots;
            if lane.hungry {
                lane.position = last;
                came = Came::Full;
            } else {
                lane.position = Position::seen_all(now);
            }
        }
        came
    }
}

/// One of `parts` of `total`, `parts` > 0. They differ by one at most; the odd ones go to those whose
/// `turn` it is.
fn share(total: usize, parts: usize, part: usize, turn: usize) -> usize {
    let (each, odd) = (total / parts, total % parts);
    each + usize::from((part + parts - turn % parts) % parts < odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(names: &[&str]) -> Lanes {
        Lanes::new(names.iter().map(|name| Arc::from(*name)))
    }

    #[test]
    fn slots_are_shared_exactly_and_in_turn() {
        let parts = |total, turn| [0, 1, 2].map(|part| share(total, 3, part, turn));
        assert_eq!(parts(64, 0), [22, 21, 21]);
        assert_eq!(parts(64, 1), [21, 22, 21]);
        assert_eq!(parts(2, 2), [1, 0, 1]);
        assert_eq!(parts(0, 0), [0, 0, 0]);
        for turn in 0..10 {
            assert_eq!(parts(7, turn).iter().sum::<usize>(), 7);
        }
    }

    #[test]
    fn with_more_lanes_than_slots_every_lane_has_its_turn() {
        let mut lanes = lanes(&["a", "b", "c", "d", "e"]);
        let mut asked = [0; 5];
        for _ in 0..5 {
            let ask = lanes.share(2, |_| 0, 500);
            assert_eq!(ask.slots, [1, 1]);
            ask.lanes.iter().for_each(|lane| asked[*lane] += 1);
        }
        assert_eq!(asked, [2; 5]);
    }

    #[test]
    fn a_small_look_ahead_reaches_every_lane_in_turn() {
        let mut lanes = lanes(&["a", "b", "c"]);
        let mut asked = [0; 3];
        for _ in 0..3 {
            let ask = lanes.share(0, |_| 1, 500);
            assert_eq!(ask.slots, [1]);
            asked[ask.lanes[0]] += 1;
        }
        assert_eq!(asked, [1; 3]);
    }

    #[test]
    fn no_more_is_asked_for_than_one_statement_may_claim() {
        let mut lanes = lanes(&["a", "b", "c"]);
        let ask = lanes.share(64, |_| 10_000, 500);
        assert_eq!(ask.slots.iter().sum::<i32>(), 500);
    }

    #[test]
    fn lanes_that_were_met_keep_their_positions_and_go_when_their_rows_are_gone() {
        let mut lanes = lanes(&["named"]);
        assert!(lanes.meet(1, &["a", "named", "b"]));
        let ask = lanes.share(3, |_| 0, 500);
        lanes.note(&ask, Position::END.at);
        assert!(!lanes.meet(1, &["b"]), "b is known");
        assert_eq!(lanes.names(), ["named", "b"]);
        assert_eq!(lanes.find("b"), Some(1));
        assert_eq!(lanes.find("a"), None);
        assert_eq!(lanes.each[1].position, Position::seen_all(Position::END.at));
        assert!(lanes.meet(1, &["b", "c"]), "c is new");
    }

    #[test]
    fn a_full_lane_goes_on_and_a_short_one_has_seen_all() {
        let mut lanes = lanes(&["a", "b"]);
        let now = Position::END.at;
        let last = Position {
            at: Position::default().at,
            id: Uuid::max(),
        };
        let mut ask = lanes.share(2, |_| 0, 500);
        ask.picked(0, last);
        assert_eq!(lanes.note(&ask, now), Came::Full);
        assert_eq!(lanes.each[0].position, last);
        assert_eq!(lanes.each[1].position, Position::seen_all(now));

        // Only the full lane is asked again, from where it was.
        let ask = lanes.share(2, |_| 0, 500);
        assert_eq!((ask.lanes.clone(), ask.slots.clone()), (vec![0], vec![2]));
        assert_eq!((ask.at[0], ask.ids[0]), (last.at, last.id));
        assert_eq!(lanes.note(&ask, now), Came::Short);
        assert!(!lanes.hungry());
    }

    #[test]
    fn a_lane_that_was_not_asked_keeps_its_due_time() {
        let mut lanes = lanes(&["a", "b"]);
        let now = Instant::now();
        let later = |seconds| now + std::time::Duration::from_secs(seconds);
        let both = lanes.share(2, |_| 0, 500);
        lanes.put_off(&both, later(3));
        lanes.each[1].hungry = false;
        let one = lanes.share(2, |_| 0, 500);
        assert_eq!(one.lanes, [0]);
        lanes.put_off(&one, later(3_600));
        assert_eq!(lanes.due(), later(3));

        lanes.each[0].hungry = false;
        lanes.wake_due(later(2));
        assert!(!lanes.hungry());
        lanes.wake_due(later(3));
        assert_eq!(lanes.share(2, |_| 0, 500).lanes, [1]);

        lanes.due_by(later(1));
        assert_eq!(lanes.due(), later(1));
    }

    #[test]
    fn a_look_reaches_every_lane_however_few_slots_there_are() {
        let mut lanes = lanes(&["a", "b", "c"]);
        let now = Position::END.at;
        for _ in 0..3 {
            lanes.look_all();
            let mut looked = [false; 3];
            while lanes.hungry() {
                let ask = lanes.share(1, |_| 0, 500);
                looked[ask.lanes[0]] |= ask.at[0] == Position::default().at;
                lanes.note(&ask, now);
            }
            assert_eq!(looked, [true; 3]);
        }
    }
}
