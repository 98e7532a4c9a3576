//! What is checked before anything starts.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::Start;
use super::problem::StartProblem;
use crate::channel::check_channel;
use crate::emit::default::{Entered, enter};
use crate::handler::{HandlerSpec, Place};
use crate::options::policy_faults;
use crate::outage::Outage;
use crate::registry;
use crate::retry::{MAX_DURATION, Partial};
use crate::schema::{self, Found};
use crate::session::Sessions;

impl Start {
    pub(super) fn check_options(&self, problems: &mut Vec<StartProblem>) {
        problems.extend(self.options.faults().into_iter().map(StartProblem::Option));
        if let Err(fault) = check_channel(&self.options.channel) {
            problems.push(StartProblem::Channel(fault));
        }
        problems.extend(
            self.two_states
                .iter()
                .map(|name| StartProblem::TwoStates(name)),
        );
    }

    /// The handlers to run, in name order.
    pub(super) fn choose_handlers(
        &self,
        problems: &mut Vec<StartProblem>,
    ) -> Vec<&'static HandlerSpec> {
        let linked = registry::all();
        if linked.is_empty() {
            problems.push(StartProblem::NoHandler);
            return Vec::new();
        }
        duplicates(linked, problems);
        let unknown = |option, names: &[String]| {
            let known = |name: &String| linked.iter().any(|spec| spec.name == name);
            names
                .iter()
                .filter(|name| !known(name))
                .map(|name| StartProblem::UnknownHandler {
                    option,
                    name: name.clone(),
                    linked: linked
                        .iter()
                        .map(|spec| format!("`{}`", spec.name))
                        .collect::<Vec<_>>()
                        .join(", "),
                })
                .collect::<Vec<_>>()
        };
        problems.extend(unknown("only", self.only.as_deref().unwrap_or_default()));
        problems.extend(unknown("except", &self.except));
        let named = |names: &[String], spec: &HandlerSpec| names.iter().any(|n| n == spec.name);
        let chosen: Vec<&'static HandlerSpec> = linked
            .iter()
            .copied()
            .filter(|spec| self.only.as_ref().is_none_or(|only| named(only, spec)))
            .filter(|spec| !named(&self.except, spec))
            .collect();
        if chosen.is_empty() {
            problems.push(StartProblem::NoneChosen);
        }
        let wider = self.options.retry.policy;
        for spec in &chosen {
            let mut needs = Vec::new();
            (spec.needs)(&mut needs);
            for need in needs.into_iter().filter(|need| !self.states.has(*need)) {
                problems.push(StartProblem::MissingState {
                    handler: spec.name,
                    place: spec.place,
                    type_name: need.type_name,
                });
            }
            // A runtime's own faults are reported once, not with every handler.
            if policy_faults(Partial::default().complete(wider)).is_empty() {
                for fault in policy_faults(spec.policy().complete(wider)) {
                    problems.push(StartProblem::Policy {
                        handler: spec.name,
                        place: spec.place,
                        fault,
                    });
                }
            }
        }
        chosen
    }

    /// Makes this runtime's settings those of the process's default emitter. Refused when another
    /// runtime has come in with another limit while this one asked the server.
    pub(super) fn enter(&self, problems: &mut Vec<StartProblem>) -> Option<Entered> {
        match enter(self.options.retry.max_retries, &self.options.channel) {
            Ok(entered) => Some(entered),
            Err(conflict) => {
                problems.push(StartProblem::Conflict(conflict.to_string()));
                None
            }
        }
    }

    /// Asks the server, again and again while it is only not ready yet, for `connect_timeout` in
    /// all.
    pub(super) async fn look(&self, sessions: &Sessions) -> sqlx::Result<Found> {
        // An option that is out of its range is refused, but not before the server was asked.
        let limit = self.options.connect_timeout.min(MAX_DURATION);
        let deadline = Instant::now() + limit;
        let mut outage = Outage::none("connecting");
        loop {
            let error = match timeout_at(deadline.into(), schema::look(sessions)).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(error)) => error,
                Err(_) => sqlx::Error::Io(std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
                    format!("the server gave no answer within {limit:?}"),
                )),
            };
            // A pool says only that it waited, not for what.
            let error = match error {
                sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) => {
                    self.reason().await.unwrap_or(error)
                }
                error => error,
            };
            if !passes(&error) || Instant::now() >= deadline {
                return Err(error);
            }
            let wait = outage.failed(&error);
            sleep_until((Instant::now() + wait).min(deadline).into()).await;
        }
    }

    /// Why no connection can be made, if the server says so at once.
    async fn reason(&self) -> Option<sqlx::Error> {
        let options = self.pool.connect_options();
        let connect = PgConnection::connect_with(&options);
        timeout(Duration::from_millis(200), connect)
            .await
            .ok()?
            .err()
    }

    pub(super) async fn check_schema(&self, found: Found, problems: &mut Vec<StartProblem>) {
        if found.too_old() {
            problems.push(StartProblem::ServerTooOld(found.version));
        }
        if found.encoding != "UTF8" {
            problems.push(StartProblem::Encoding(found.encoding));
        }
        if !found.missing.is_empty() {
            let (missing, search_path) = (found.missing, found.search_path);
            problems.push(StartProblem::Schema {
                missing,
                search_path,
            });
            return;
        }
        if !found.forbidden.is_empty() {
            problems.push(StartProblem::Privileges(found.forbidden));
        }
        if !found.row_secured.is_empty() {
            problems.push(StartProblem::RowSecurity {
                tables: found.row_secured,
            });
        }
        // Only if one is idle: a caller may hold the pool's last one.
        if let Some(mut connection) = self.pool.try_acquire() {
            let theirs = sqlx::query_scalar::<_, Option<i64>>(
                "SELECT to_regclass('outbox_events')::oid::bigint",
            );
            if let Ok(theirs) = theirs.fetch_one(&mut *connection).await
                && theirs != found.events
            {
                problems.push(StartProblem::OtherTable);
            }
        }
    }
}

/// Names that stand twice, as a name or as an alias.
fn duplicates(linked: &[&'static HandlerSpec], problems: &mut Vec<StartProblem>) {
    let mut taken: Vec<(&'static str, Place)> = Vec::new();
    let mut reported = BTreeSet::new();
    // All names first, so that an alias is the one that is reported as the second.
    let names = linked.iter().map(|spec| (spec.name, spec.place));
    let aliases = linked
        .iter()
        .flat_map(|spec| spec.aliases.iter().map(|alias| (*alias, spec.place)));
    for (name, place) in names.chain(aliases) {
        match taken.iter().find(|(other, _)| *other == name) {
            Some((_, first)) => {
                if reported.insert(name) {
                    problems.push(StartProblem::DuplicateName {
                        name,
                        first: *first,
                        second: place,
                    });
                }
            }
            None => taken.push((name, place)),
        }
    }
}

/// Whether a server that said so may take a connection a moment later: SQLSTATE classes 53 (out of
/// connections) and 57 (starting up, shutting down), a refused or broken connection.
fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        _ => error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .is_some_and(|code| code.starts_with("53") || code.starts_with("57")),
    }
}
