//! Starting a runtime: everything is checked first, and every problem reported at once.

use std::collections::{BTreeSet, HashSet};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::channel::{ChannelError, check_channel};
use crate::claim::{Means, Poller};
use crate::dispatch::{Dispatcher, Floor, Handler};
use crate::emit::Emitter;
use crate::emit::default::{Entered, disagrees, enter};
use crate::extract::States;
use crate::handler::{HandlerSpec, Place, Surroundings};
use crate::lease::{Claims, start_heart};
use crate::options::{InvalidOption, Lease, Options, policy_faults};
use crate::outage::Outage;
use crate::recover::Recovery;
use crate::registry;
use crate::retry::{MAX_DURATION, Retry};
use crate::runtime::{Inner, Outbox, keep_house};
use crate::schema::{self, Found};
use crate::session::Sessions;
use crate::settle::{Settlements, Settler};
use crate::shutdown::{Keeper, Release};
use crate::wake::{Wake, listen};

const SUBSCRIBE: &str = include_str!("sql/subscribe.sql");

/// Claims and settles go side by side.
const CONNECTIONS: u32 = 2;

/// The longest that a statement of the runtime may take before its connection is given up.
const STATEMENT_LIMIT: Duration = Duration::from_secs(30);

/// The outbox can't start. Everything that is wrong is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Options, handlers or the schema are not what is needed.
    #[error("the outbox can't start:{}", list(.0))]
    Refused(Vec<StartProblem>),
    /// The database gave no answer within `connect_timeout`, or refused the connection.
    #[error(
        "the outbox can't start: the database can't be reached; is it running, and is the pool's URL right?"
    )]
    Unreachable(#[source] sqlx::Error),
    /// The database refused a statement.
    #[error("the outbox can't start: its subscriptions could not be written")]
    Database(#[source] sqlx::Error),
    /// The system gave no thread for the heartbeat.
    #[error("the outbox can't start: the heartbeat thread could not be started")]
    Thread(#[source] std::io::Error),
}

impl StartError {
    /// What is wrong, where that is a matter of options, handlers or schema.
    #[must_use]
    pub fn problems(&self) -> &[StartProblem] {
        match self {
            Self::Refused(problems) => problems,
            _ => &[],
        }
    }
}

/// One reason for not starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartProblem {
    /// An option is out of its range.
    #[error("{0}")]
    Option(InvalidOption),
    /// A handler's attribute, completed by the runtime's settings, makes no policy.
    #[error("handler `{handler}` ({place}), with the runtime's settings: {fault}")]
    Policy {
        /// The handler.
        handler: &'static str,
        /// Where it stands.
        place: Place,
        /// What is wrong.
        fault: InvalidOption,
    },
    /// `channel` is no channel name.
    #[error("expected `channel` to be a channel name: {0}")]
    Channel(ChannelError),
    /// `state` was called twice with one type.
    #[error(
        "`state` was given two values of the type `{0}`; wrap one of them in a type of its own"
    )]
    TwoStates(&'static str),
    /// A handler takes a `State<T>` that `start` was not given.
    #[error(
        "handler `{handler}` ({place}) needs `State<{type_name}>`; add `.state(…)` with a value of that type to `outbox::start(pool)`"
    )]
    MissingState {
        /// The handler.
        handler: &'static str,
        /// Where it stands.
        place: Place,
        /// The state's type.
        type_name: &'static str,
    },
    /// Two handlers have one name, or one has another's name as its alias.
    #[error(
        "two handlers are named `{name}`: {first} and {second}; give one of them another `name = \"…\"` or drop the alias"
    )]
    DuplicateName {
        /// The name.
        name: &'static str,
        /// Where the one stands.
        first: Place,
        /// Where the other stands.
        second: Place,
    },
    /// `only` or `except` names a handler that is not linked.
    #[error("`{option}` names the handler `{name}`, which is not linked; linked are: {linked}")]
    UnknownHandler {
        /// `only` or `except`.
        option: &'static str,
        /// The name.
        name: String,
        /// All linked handlers.
        linked: String,
    },
    /// No handler is linked.
    #[error(
        "no handler is linked: annotate a function with `#[outbox::handler]`; if there are some in a crate that the binary never mentions, the linker has dropped them: write `use that_crate as _;` in the binary"
    )]
    NoHandler,
    /// `only` and `except` leave no handler.
    #[error("`only` and `except` leave no handler to run")]
    NoneChosen,
    /// Tables, columns or indexes are missing.
    #[error("the schema is missing or older than needed ({}, with search_path {search_path}): call `outbox::migrate(&pool).await?` before `start`, or check the `search_path`", missing.join(", "))]
    Schema {
        /// What is missing, such as `table outbox_events`.
        missing: Vec<String>,
        /// The connection's search path.
        search_path: String,
    },
    /// Row level security hides rows from this role, so that events would never be delivered.
    #[error("row level security hides rows of {} from this role: give the role BYPASSRLS, or exempt it by a policy's owner", tables.join(" and "))]
    RowSecurity {
        /// The tables.
        tables: Vec<String>,
    },
    /// The database's encoding is not UTF8.
    #[error("the database's encoding is {0}; the outbox needs UTF8")]
    Encoding(String),
    /// The server is older than PostgreSQL 13.
    #[error("the server is PostgreSQL {}; the outbox needs 13 or newer", .0 / 10_000)]
    ServerTooOld(i32),
    /// The pool's connections and the runtime's see different tables.
    #[error(
        "the pool's connections see another table `outbox_events` than new connections do: set the `search_path` in the connect options or in `after_connect`, so that it is the same on all"
    )]
    OtherTable,
    /// The role may not do what the runtime does.
    #[error("the role lacks the privileges {}: `GRANT SELECT, INSERT, UPDATE ON outbox_events, outbox_handlers TO …`", .0.join(", "))]
    Privileges(Vec<String>),
    /// A running outbox of this process has set another default.
    #[error("{0}")]
    Conflict(String),
    /// The database can't be reached either; alone, this is [`StartError::Unreachable`].
    #[error("the database can't be reached: {}", crate::error_text::chain(.0))]
    Unreachable(sqlx::Error),
}

fn list(problems: &[StartProblem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n- {problem}"))
        .collect()
}

/// Starts the outbox on `pool`: a builder that is awaited.
///
/// All handlers of this binary are run, unless [`only`](Start::only) or [`except`](Start::except)
/// says otherwise. Once per pool is enough; each call is a runtime of its own. It keeps running
/// when the [`Outbox`] is dropped, and holds none of the pool's connections: it opens up to four of
/// its own, made as the pool makes its.
///
/// ```no_run
/// use std::time::Duration;
/// use outbox::Retry;
///
/// # async fn run(pool: outbox::sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let outbox = outbox::start(pool)
///     .concurrency(16)
///     .retry(Retry::default().initial_delay(Duration::from_millis(250)))
///     .state(String::from("shared with handlers as State<String>"))
///     .await?;
/// outbox.shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`StartError`] with everything that is wrong: options, missing states, duplicate names, the
/// schema, a database that can't be reached.
///
/// # Cancel safety
///
/// Dropping the future before it is done starts nothing; subscriptions may have been written.
pub fn start(pool: PgPool) -> Start {
    Start {
        pool,
        options: Options::default(),
        states: States::default(),
        two_states: Vec::new(),
        only: None,
        except: Vec::new(),
    }
}

/// The settings of a runtime that is about to start: see [`start`].
#[derive(Debug)]
#[must_use = "nothing starts until this is awaited"]
pub struct Start {
    pool: PgPool,
    options: Options,
    states: States,
    two_states: Vec<&'static str>,
    only: Option<Vec<String>>,
    except: Vec<String>,
}

impl Start {
    /// How often the table is looked at when no notification comes. Default 1 s; 1 ms to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.options.poll_interval = interval;
        self
    }

    /// Rows per claim, at most. Default 500; 1 to 10,000.
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.options.batch_size = rows;
        self
    }

    /// Handlers that run at once, at most. Default 64; 1 to 10,000.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.options.concurrency = handlers;
        self
    }

    /// Retries of handlers that don't set their own. An explicit `max_retries` is also the default
    /// of [`emit`](crate::emit) while this runtime runs.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.options.retry = retry;
        self
    }

    /// How long claims hold and how they are kept.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.options.lease = lease;
        self
    }

    /// How many leases in a row a record may lose before it is FAILED: the process that runs its
    /// handler dies or hangs. Default 10; 1 to 2,147,483,647; `None` only requeues.
    pub fn max_recoveries(mut self, leases: impl Into<Option<i32>>) -> Self {
        self.options.max_recoveries = leases.into();
        self
    }

    /// How long running handlers may go on after shutdown began. Default 30 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.options.shutdown_timeout = timeout;
        self
    }

    /// How long a handler may go on after its claim was lost. Default 1 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.options.cancel_grace = grace;
        self
    }

    /// How long to wait for a connection. Default 30 s; up to
    /// [`MAX_DURATION`](crate::MAX_DURATION).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Whether notifications wake the poller. Default true; without them it polls, as it must
    /// behind a pooler in transaction mode.
    pub fn listen(mut self, listen: bool) -> Self {
        self.options.listen = listen;
        self
    }

    /// The channel to listen on, which [`emit`](crate::emit) then notifies. Default
    /// `outbox_events`; at most 63 bytes of `a` to `z`, `0` to `9`, `_` and `$`.
    pub fn channel(mut self, name: impl Into<String>) -> Self {
        self.options.channel = name.into();
        self
    }

    /// Shared state that handlers take as [`State<T>`](crate::State): one value per type.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        if !self.states.insert(value) {
            self.two_states.push(std::any::type_name::<T>());
        }
        self
    }

    /// Runs these handlers and no others.
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.only
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    /// Runs all handlers but these.
    pub fn except<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.except.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether the warning of a failed attempt has the error's text, which may hold what the event
    /// holds. Default false: then the text is in the table, and in the log at level debug.
    pub fn log_errors(mut self, log: bool) -> Self {
        self.options.log_errors = log;
        self
    }

    async fn run(self) -> Result<Outbox, StartError> {
        let mut problems = Vec::new();
        self.check_options(&mut problems);
        let handlers = self.choose_handlers(&mut problems);
        if let Err(conflict) = disagrees(self.options.retry.max_retries) {
            problems.push(StartProblem::Conflict(conflict.to_string()));
        }

        let sessions = Sessions::like(
            &self.pool,
            CONNECTIONS,
            self.options.connect_timeout,
            STATEMENT_LIMIT,
        );
        match self.look(&sessions).await {
            Ok(found) => {
                sessions.default_isolation(&found.isolation);
                self.check_schema(found, &mut problems).await;
            }
            Err(error) if problems.is_empty() => return Err(StartError::Unreachable(error)),
            Err(error) => problems.push(StartProblem::Unreachable(error)),
        }
        let entered = if problems.is_empty() {
            self.enter(&mut problems)
        } else {
            None
        };
        let Some(entered) = entered else {
            sessions.close(Duration::from_secs(1)).await;
            return Err(StartError::Refused(problems));
        };
        subscribe(&sessions, &handlers)
            .await
            .map_err(StartError::Database)?;
        self.spawn(handlers, sessions, entered)
    }

    fn check_options(&self, problems: &mut Vec<StartProblem>) {
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
    fn choose_handlers(&self, problems: &mut Vec<StartProblem>) -> Vec<&'static HandlerSpec> {
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
            if policy_faults(crate::retry::Partial::default().complete(wider)).is_empty() {
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
    fn enter(&self, problems: &mut Vec<StartProblem>) -> Option<Entered> {
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
    async fn look(&self, sessions: &Sessions) -> sqlx::Result<Found> {
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

    async fn check_schema(&self, found: Found, problems: &mut Vec<StartProblem>) {
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

    fn spawn(
        self,
        specs: Vec<&'static HandlerSpec>,
        sessions: Sessions,
        entered: Entered,
    ) -> Result<Outbox, StartError> {
        let Self {
            pool,
            options,
            states,
            ..
        } = self;
        let claims = Arc::new(Claims::default());
        let heart =
            start_heart(&pool, Arc::clone(&claims), options.lease).map_err(StartError::Thread)?;
        let wake = Arc::new(Wake::default());
        let settlements = Arc::new(Settlements::default());
        let paused = Arc::new(AtomicBool::new(false));
        let stopping = CancellationToken::new();
        let settled = CancellationToken::new();

        let policy = options.retry.policy;
        let handlers: Vec<Handler> = specs
            .iter()
            .map(|spec| Handler {
                spec,
                policy: spec.policy().complete(policy),
            })
            .collect();
        let names: Vec<(Arc<str>, usize)> = specs
            .iter()
            .enumerate()
            .flat_map(|(handler, spec)| {
                std::iter::once(&spec.name)
                    .chain(spec.aliases)
                    .map(move |name| (Arc::from(*name), handler))
            })
            .collect();
        let mut seen = HashSet::new();
        let unbound: Vec<(&'static str, Option<i32>)> = specs
            .iter()
            .flat_map(|spec| spec.patterns.iter().map(|p| (*p, spec.event_max_retries)))
            .filter(|(event_type, _)| !event_type.contains('*') && seen.insert(*event_type))
            .collect();
        let mut patterns: Vec<&'static str> = specs
            .iter()
            .flat_map(|spec| spec.patterns.iter().copied())
            .filter(|pattern| pattern.contains('*'))
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        let types = unbound.iter().map(|(event_type, _)| *event_type).collect();
        let plain_names: Vec<String> = names.iter().map(|(name, _)| name.to_string()).collect();

        let listener = options.listen.then(|| {
            let own = Sessions::like(&pool, 1, options.connect_timeout, STATEMENT_LIMIT);
            let listening = listen(
                own,
                options.channel.clone(),
                Arc::clone(&wake),
                stopping.clone(),
            );
            tokio::spawn(listening)
        });
        let dispatcher = Arc::new(Dispatcher {
            handlers,
            concurrency: options.concurrency,
            batch_size: options.batch_size,
            jitter: options.retry.jitter,
            cancel_grace: options.cancel_grace,
            surroundings: Arc::new(Surroundings { pool, states }),
            claims: Arc::clone(&claims),
            settlements: Arc::clone(&settlements),
            wake: Arc::clone(&wake),
            stopping: stopping.clone(),
            aborted: CancellationToken::new(),
            floor: std::sync::Mutex::new(Floor::default()),
            idle: Notify::new(),
        });
        let settler = Settler {
            sessions: sessions.clone(),
            claims: Arc::clone(&claims),
            settlements: Arc::clone(&settlements),
            load: Arc::clone(&dispatcher),
            wake: Arc::clone(&wake),
            log_errors: options.log_errors,
            stopped: settled.clone(),
        };
        let recovery = Recovery::new(
            plain_names.clone(),
            options.max_recoveries,
            options.channel.clone(),
            options.lease.duration,
            options.poll_interval,
        );
        let means = Means {
            sessions: sessions.clone(),
            dispatcher: Arc::clone(&dispatcher),
            claims: Arc::clone(&claims),
            settlements: Arc::clone(&settlements),
            wake: Arc::clone(&wake),
            paused: Arc::clone(&paused),
            stopping,
            poll_interval: options.poll_interval,
            batch_size: options.batch_size,
            lease: options.lease.duration,
            worker: worker(),
            channel: options.channel.clone(),
            max_retries: options.retry.max_retries,
        };
        let poller =
            tokio::spawn(Poller::new(means, recovery, names, unbound, patterns.clone()).run());
        let settler = tokio::spawn(settler.run());
        let house = keep_house(
            sessions.clone(),
            specs.iter().map(|spec| spec.name).collect(),
        );
        let mut others = vec![tokio::spawn(house)];
        others.extend(listener);

        let stop = CancellationToken::new();
        let (result, stopped) = watch::channel(None);
        let keeper = Keeper {
            dispatcher: Arc::clone(&dispatcher),
            release: Release {
                claims,
                sessions: sessions.clone(),
                channel: options.channel.clone(),
            },
            heart,
            poller,
            settler,
            settled,
            others,
            shutdown_timeout: options.shutdown_timeout,
        };
        tokio::spawn(keeper.keep(stop.clone(), result, entered));
        tracing::info!(
            handlers = specs
                .iter()
                .map(|spec| spec.name)
                .collect::<Vec<_>>()
                .join(", "),
            "outbox: started",
        );
        let emitter = Emitter::of_runtime(options.retry.max_retries, options.channel);
        Ok(Outbox(Arc::new(Inner {
            dispatcher,
            settlements,
            sessions,
            wake,
            paused,
            emitter,
            names: plain_names,
            types,
            patterns,
            stop,
            stopped,
        })))
    }
}

impl IntoFuture for Start {
    type Output = Result<Outbox, StartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
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
            .and_then(|error| error.code())
            .is_some_and(|code| code.starts_with("53") || code.starts_with("57")),
    }
}

/// Writes which events the handlers want.
async fn subscribe(sessions: &Sessions, specs: &[&'static HandlerSpec]) -> sqlx::Result<()> {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    let limits: Vec<Option<i32>> = specs.iter().map(|spec| spec.max_retries).collect();
    let pairs = |of: fn(&HandlerSpec) -> &'static [&'static str]| {
        let pairs = specs
            .iter()
            .flat_map(|spec| of(spec).iter().map(|text| (spec.name, *text)));
        pairs.unzip::<_, _, Vec<&str>, Vec<&str>>()
    };
    let (pattern_of, patterns) = pairs(|spec| spec.patterns);
    let (alias_of, aliases) = pairs(|spec| spec.aliases);
    let statement = sqlx::query(SUBSCRIBE)
        .bind(names)
        .bind(limits)
        .bind(pattern_of)
        .bind(patterns)
        .bind(alias_of)
        .bind(aliases);
    sessions.fetch(statement).await.map(|_| ())
}

/// Says on the record who has it: for people, never for a decision.
fn worker() -> String {
    let host = gethostname::gethostname();
    let run = uuid::Uuid::now_v7().simple().to_string();
    format!(
        "{}:{}:{}",
        host.to_string_lossy(),
        std::process::id(),
        &run[20..]
    )
}
