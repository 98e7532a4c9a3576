//! The process's default emitter, which the free functions use.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::emitter::Emitter;

/// The runtimes that run in this process, and the emitter that follows from them.
#[derive(Debug)]
struct Running {
    runtimes: Vec<Runtime>,
    next: u64,
    /// Made anew when a runtime comes or goes, so that an emit only takes it. `None`: nobody has
    /// asked since.
    emitter: Option<Emitter>,
}

#[derive(Debug)]
struct Runtime {
    number: u64,
    max_retries: Option<i32>,
    channel: String,
}

static RUNNING: RwLock<Running> = RwLock::new(Running {
    runtimes: Vec::new(),
    next: 0,
    emitter: None,
});

fn read() -> RwLockReadGuard<'static, Running> {
    RUNNING.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Running> {
    RUNNING.write().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    fn max_retries(&self) -> Option<i32> {
        self.runtimes.iter().find_map(|runtime| runtime.max_retries)
    }

    fn disagrees(&self, max_retries: Option<i32>) -> Result<(), Conflict> {
        match (max_retries, self.max_retries()) {
            (Some(asked), Some(running)) if asked != running => Err(Conflict { asked, running }),
            _ => Ok(()),
        }
    }

    fn make_emitter(&self) -> Emitter {
        let max_retries = self.max_retries();
        // Every runtime is woken, whatever its channel; one notification for each.
        let mut channels: Vec<String> = self
            .runtimes
            .iter()
            .map(|runtime| runtime.channel.clone())
            .collect();
        channels.sort_unstable();
        channels.dedup();
        Emitter::of_runtimes(max_retries, channels)
    }
}

/// The default emitter as it is now.
pub(crate) fn emitter() -> Emitter {
    if let Some(emitter) = &read().emitter {
        return emitter.clone();
    }
    let mut running = write();
    let emitter = running.make_emitter();
    running.emitter = Some(emitter.clone());
    emitter
}

/// Whether a runtime that runs has set another limit than `max_retries`.
pub(crate) fn disagrees(max_retries: Option<i32>) -> Result<(), Conflict> {
    read().disagrees(max_retries)
}

/// Makes a starting runtime's settings those of the default emitter, until the guard is dropped.
///
/// `max_retries` is what was set explicitly. `channel` is one more to notify: runtimes with
/// different channels don't disagree.
///
/// # Errors
///
/// When a runtime that still runs has set another `max_retries`.
pub(crate) fn enter(max_retries: Option<i32>, channel: &str) -> Result<Entered, Conflict> {
    let mut running = write();
    running.disagrees(max_retries)?;
    let number = running.next;
    running.next += 1;
    running.runtimes.push(Runtime {
        number,
        max_retries,
        channel: channel.to_owned(),
    });
    running.emitter = None;
    Ok(Entered { number })
}

/// Held by a runtime while it runs; dropped, its settings end.
#[derive(Debug)]
#[must_use = "the settings end when this is dropped"]
pub(crate) struct Entered {
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut running = write();
        running
            .runtimes
            .retain(|runtime| runtime.number != self.number);
        running.emitter = None;
    }
}

/// Two runtimes of one process set different limits for the same emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`retry.max_retries` is {asked}, but a running runtime of this process has set {running}, and both are the default of `outbox::emit`; set one value, or emit with `Emitter::builder()`"
)]
pub(crate) struct Conflict {
    pub(crate) asked: i32,
    pub(crate) running: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: it is the only one of this process that enters.
    #[test]
    fn the_default_emitter_follows_the_runtimes() {
        let settings = || {
            let emitter = emitter();
            (emitter.settings().max_retries, emitter.channels().to_vec())
        };
        assert_eq!(settings(), (None, vec!["outbox_events".to_owned()]));

        let silent = enter(None, "outbox_events").expect("nobody disagrees");
        assert_eq!(settings(), (None, vec!["outbox_events".to_owned()]));
        let first = enter(Some(8), "jobs").expect("nobody disagrees");
        let both = vec!["jobs".to_owned(), "outbox_events".to_owned()];
        assert_eq!(settings(), (Some(8), both.clone()));
        let same = enter(Some(8), "jobs").expect("the same value is no conflict");
        assert_eq!(settings(), (Some(8), both.clone()));
        let conflict = enter(Some(9), "jobs").err();
        assert_eq!(
            conflict,
            Some(Conflict {
                asked: 9,
                running: 8
            })
        );

        drop(first);
        assert_eq!(settings(), (Some(8), both));
        drop(same);
        assert_eq!(settings(), (None, vec!["outbox_events".to_owned()]));
        let other = enter(Some(9), "jobs").expect("who set 8 has gone");
        drop(silent);
        assert_eq!(settings(), (Some(9), vec!["jobs".to_owned()]));
        drop(other);
        assert_eq!(settings(), (None, vec!["outbox_events".to_owned()]));
    }
}
