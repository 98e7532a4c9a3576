//! From a claimed record to a result: runs handlers, never touches the database.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::CatchUnwind;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::call::{Call, Surroundings};
use crate::context::Signals;
use crate::error_text::{chain, guarded, panic_text};
use crate::handler::{HandlerFuture, HandlerSpec};
use crate::lease::Claims;
use crate::options::Options;
use crate::outcome::{Failure, Outcome};
use crate::pattern;
use crate::record::Claimed;
use crate::retry::Policy;
use crate::settle::{Failed, Load, Settlement, Settlements, log_lost};
use crate::stored_text::stored_text;
use crate::wake::Wake;

/// Rows are claimed ahead of their start only as far as they will start within this time.
const LOOK_AHEAD: Duration = Duration::from_millis(20);

/// A record lost its lease this often: it may be what kills its process, so it runs alone.
pub(crate) const SUSPECT: i32 = 2;

/// A handler as this runtime runs it.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) spec: &'static HandlerSpec,
    pub(crate) policy: Policy,
}

/// One claimed record on its way to its handler.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) record: Arc<Claimed>,
    pub(crate) token: Uuid,
    /// Which of the runtime's handlers.
    pub(crate) handler: usize,
    pub(crate) lost: CancellationToken,
}

impl Delivery {
    /// The record's id and the claim's token.
    fn claim(&self) -> (Uuid, Uuid) {
        (self.record.id.into(), self.token)
    }
}

/// Runs claimed records, at most `concurrency` at once.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) handlers: Vec<Handler>,
    concurrency: usize,
    batch_size: usize,
    jitter: f64,
    pub(crate) cancel_grace: Duration,
    surroundings: Arc<Surroundings>,
    claims: Arc<Claims>,
    settlements: Arc<Settlements>,
    wake: Arc<Wake>,
    /// Shutdown has begun: handlers should come to an end.
    pub(crate) stopping: CancellationToken,
    /// Shutdown has waited long enough: handlers are dropped.
    pub(crate) aborted: CancellationToken,
    floor: Mutex<Floor>,
    /// The last running handler ended.
    pub(crate) idle: Notify,
}

/// What is running and what waits for a slot.
#[derive(Debug, Default)]
struct Floor {
    queue: VecDeque<Delivery>,
    running: usize,
    suspect: bool,
    closed: bool,
    meters: Vec<Meter>,
    /// When so few wait, the poller wants to know.
    low_water: usize,
}

/// How long a handler takes.
#[derive(Debug, Clone, Copy, Default)]
struct Meter {
    running: usize,
    /// A moving average; `None` until the first run has ended.
    nanos: Option<u64>,
}

impl Meter {
    fn took(&mut self, duration: Duration) {
        let sample = u64::try_from(duration.as_nanos())
            .unwrap_or(u64::MAX)
            .max(100);
        self.nanos = Some(match self.nanos {
            None => sample,
            // An eighth of the newest, and at once for one that takes much longer.
            Some(average) if sample / 8 > average => sample,
            Some(average) => average - average / 8 + sample / 8,
        });
    }

    /// How many runs fit into the look-ahead on one slot.
    fn per_slot(&self) -> u64 {
        let look_ahead = u64::try_from(LOOK_AHEAD.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.map_or(0, |nanos| look_ahead / nanos.max(1))
    }
}

/// How many rows the poller may claim now.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Slots that nothing runs in.
    pub(crate) free: usize,
    /// Beyond the free slots, for each handler: what will start within the look-ahead.
    pub(crate) ahead: Vec<usize>,
    /// Whether a suspect may start now.
    pub(crate) suspect: bool,
}

impl Dispatcher {
    pub(crate) fn new(
        options: &Options,
        handlers: Vec<Handler>,
        surroundings: Arc<Surroundings>,
        claims: Arc<Claims>,
        settlements: Arc<Settlements>,
        wake: Arc<Wake>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            floor: Mutex::new(Floor {
                meters: vec![Meter::default(); handlers.len()],
                ..Floor::default()
            }),
            handlers,
            concurrency: options.concurrency,
            batch_size: options.batch_size,
            jitter: options.retry.jitter,
            cancel_grace: options.cancel_grace,
            surroundings,
            claims,
            settlements,
            wake,
            stopping,
            aborted: CancellationToken::new(),
            idle: Notify::new(),
        }
    }

    fn floor(&self) -> MutexGuard<'_, Floor> {
        self.floor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much can be claimed. `None` while enough waits already: a claim for a handful of rows
    /// costs as much as one for hundreds.
    pub(crate) fn room(&self) -> Option<Room> {
        let mut floor = self.floor();
        let free = self.concurrency - floor.running.min(self.concurrency);
        // Slots that will be free again within the look-ahead.
        let brisk: usize = floor
            .meters
            .iter()
            .filter(|m| m.per_slot() > 0)
            .map(|m| m.running)
            .sum();
        let slots = (free + brisk).min(self.concurrency) as u64;
        let queued = floor.queue.len();
        let ahead: Vec<usize> = floor
            .meters
            .iter()
            .map(|meter| {
                let most = slots.saturating_mul(meter.per_slot());
                usize::try_from(most)
                    .unwrap_or(usize::MAX)
                    .min(self.batch_size)
            })
            .collect();
        let most = ahead.iter().copied().max().unwrap_or(0);
        floor.low_water = most / 2;
        if free == 0 && (most == 0 || queued > floor.low_water) {
            return None;
        }
        let ahead = ahead
            .into_iter()
            .map(|most| most.saturating_sub(queued))
            .collect();
        Some(Room {
            free,
            ahead,
            suspect: !floor.suspect && free > 0,
        })
    }

    /// Takes claimed records to run, suspects first. What comes after shutdown began is given back,
    /// by ids and tokens.
    pub(crate) fn push(self: &Arc<Self>, deliveries: Vec<Delivery>) -> Vec<(Uuid, Uuid)> {
        let spawn = {
            let mut floor = self.floor();
            if floor.closed {
                return deliveries.iter().map(Delivery::claim).collect();
            }
            for delivery in deliveries {
                if delivery.record.recovery_count >= SUSPECT {
                    floor.suspect = true;
                    floor.queue.push_front(delivery);
                } else {
                    floor.queue.push_back(delivery);
                }
            }
            let free = self.concurrency - floor.running.min(self.concurrency);
            let spawn = free.min(floor.queue.len());
            floor.running += spawn;
            spawn
        };
        for _ in 0..spawn {
            tokio::spawn(Arc::clone(self).serve());
        }
        Vec::new()
    }

    /// Runs what waits, one after the other, until nothing does.
    async fn serve(self: Arc<Self>) {
        let mut finished = None;
        while let Some(delivery) = self.next(finished.take()) {
            let started = Instant::now();
            let handler = delivery.handler;
            let suspect = delivery.record.recovery_count >= SUSPECT;
            if let Some(settlement) = self.attempt(delivery).await {
                self.settlements.push(settlement);
            }
            finished = Some(Finished {
                handler,
                suspect,
                took: started.elapsed(),
            });
        }
    }

    /// Notes what ended and takes the next. `None` gives the slot back.
    fn next(&self, finished: Option<Finished>) -> Option<Delivery> {
        let mut floor = self.floor();
        if let Some(finished) = finished {
            let meter = &mut floor.meters[finished.handler];
            meter.running -= 1;
            meter.took(finished.took);
            floor.suspect &= !finished.suspect;
        }
        let next = floor.queue.pop_front();
        if let Some(delivery) = &next {
            floor.meters[delivery.handler].running += 1;
        } else {
            floor.running -= 1;
        }
        let running = floor.running;
        let wanted = next.is_none() || floor.queue.len() == floor.low_water;
        drop(floor);
        if wanted {
            self.wake.nudge();
        }
        if running == 0 {
            self.settlements.nudge();
            self.idle.notify_waiters();
        }
        next
    }

    /// One attempt. `None` when its claim was lost or shutdown dropped it: nothing is settled then.
    async fn attempt(&self, delivery: Delivery) -> Option<Settlement> {
        let Delivery {
            record,
            token,
            handler,
            lost,
        } = delivery;
        let id = Uuid::from(record.id);
        let name = Arc::clone(&record.handler);
        let failed_before = record.retry_count;
        let Handler { spec, policy } = &self.handlers[handler];
        if lost.is_cancelled() {
            log_lost(&name, id);
            return None;
        }
        let outcome = if spec
            .patterns
            .iter()
            .any(|p| pattern::selects(p, &record.event_type))
        {
            let call = Call::new(
                record,
                Signals {
                    stopping: self.stopping.clone(),
                    lost: lost.clone(),
                },
                Arc::clone(&self.surroundings),
            );
            // Making the future runs none of the handler's code, but the macro is not all there is.
            let run = guarded(|| (spec.call)(call));
            match run {
                Some(run) => self.run(run, spec.timeout(), &lost).await,
                None => End::Outcome(Outcome::Failed("the handler panicked before it ran".into())),
            }
        } else {
            End::Outcome(Outcome::Failed(Failure::from(format!(
                "the handler `{}` no longer takes events of the type `{}`; it takes {}",
                spec.name,
                record.event_type,
                spec.patterns
                    .iter()
                    .map(|p| format!("`{p}`"))
                    .collect::<Vec<_>>()
                    .join(", "),
            ))))
        };
        let failure = match outcome {
            End::Outcome(Outcome::Done) => None,
            End::Outcome(Outcome::Failed(Failure { error, type_name })) => {
                let text = chain(error.as_ref());
                // A destructor is the user's code, too.
                guarded(|| drop(error));
                Some((text, type_name))
            }
            End::Panicked(text) => Some((text, "panic")),
            End::TimedOut(after) => Some((
                format!("the handler ran longer than its timeout of {after:?}"),
                "timeout",
            )),
            End::Lost => {
                self.claims.let_go([(id, token)]);
                log_lost(&name, id);
                return None;
            }
            End::Aborted => return None,
        };
        let failure = failure.map(|(error, type_name)| {
            let failed = failed_before.saturating_add(1);
            let chance = if self.jitter > 0.0 {
                fastrand::f64()
            } else {
                0.0
            };
            Failed {
                error: stored_text(&error).into_owned(),
                type_name,
                delay_ms: policy.jittered_ms(failed, self.jitter, chance),
            }
        });
        Some(Settlement {
            id,
            token,
            handler: name,
            failure,
            in_doubt: false,
            passed_over: 0,
            refused: 0,
        })
    }

    /// Runs the handler's future to whichever end comes first.
    async fn run(
        &self,
        run: HandlerFuture,
        limit: Option<Duration>,
        lost: &CancellationToken,
    ) -> End {
        let mut run = Running(Some(AssertUnwindSafe(run).catch_unwind()));
        let timeout = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            result = run.end() => match result {
                Ok(outcome) => End::Outcome(outcome),
                Err(payload) => {
                    let text = panic_text(payload.as_ref());
                    guarded(|| drop(payload));
                    End::Panicked(text)
                }
            },
            () = lost.cancelled() => {
                // The result counts no more; the handler gets a moment to tidy up.
                tokio::select! {
                    result = run.end() => {
                        guarded(|| drop(result));
                    }
                    () = tokio::time::sleep(self.cancel_grace) => {}
                    () = self.aborted.cancelled() => {}
                }
                End::Lost
            }
            () = self.aborted.cancelled() => End::Aborted,
            () = timeout => End::TimedOut(limit.unwrap_or_default()),
        }
    }

    /// Takes no more and gives back what has not started, by ids and tokens.
    pub(crate) fn close(&self) -> Vec<(Uuid, Uuid)> {
        let mut floor = self.floor();
        floor.closed = true;
        floor
            .queue
            .drain(..)
            .map(|delivery| delivery.claim())
            .collect()
    }

    /// The handlers that are running, by name, each as often as it runs.
    pub(crate) fn running(&self) -> Vec<&'static str> {
        let floor = self.floor();
        let names = self.handlers.iter().zip(&floor.meters);
        names
            .flat_map(|(h, meter)| std::iter::repeat_n(h.spec.name, meter.running))
            .collect()
    }
}

impl Load for Dispatcher {
    fn busy(&self) -> bool {
        self.floor().running > 0
    }
}

/// A run that is over.
struct Finished {
    handler: usize,
    suspect: bool,
    took: Duration,
}

/// How a run came to its end.
enum End {
    Outcome(Outcome),
    Panicked(String),
    TimedOut(Duration),
    Lost,
    Aborted,
}

/// A handler's future whose destructor may panic without harm.
struct Running(Option<CatchUnwind<AssertUnwindSafe<HandlerFuture>>>);

impl Running {
    /// The future; pending for ever once it is gone.
    async fn end(&mut self) -> std::thread::Result<Outcome> {
        match &mut self.0 {
            Some(future) => future.await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let future = self.0.take();
        guarded(|| drop(future));
    }
}
