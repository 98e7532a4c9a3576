//! The parts of a runtime, put together and set going.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::problem::StartError;
use super::{STATEMENT_LIMIT, Start};
use crate::call::Surroundings;
use crate::claim::{Means, Poller};
use crate::dispatch::{Dispatcher, Handler};
use crate::emit::Emitter;
use crate::emit::default::Entered;
use crate::handler::HandlerSpec;
use crate::lease::{Claims, start_heart};
use crate::options::Options;
use crate::recover::Recovery;
use crate::runtime::{Inner, Outbox, keep_house};
use crate::session::Sessions;
use crate::settle::{Settlements, Settler};
use crate::shutdown::{Keeper, Release};
use crate::wake::{Wake, listen};

const SUBSCRIBE: &str = include_str!("../sql/subscribe.sql");

impl Start {
    pub(super) fn spawn(
        self,
        specs: &[&'static HandlerSpec],
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
        let policy_of = |spec: &HandlerSpec| spec.policy().complete(policy);
        let handler = |spec: &&'static HandlerSpec| Handler {
            spec,
            policy: policy_of(spec),
        };
        let names = lane_names(specs);
        let unbound = unbound_types(specs);
        let patterns = wildcards(specs);
        let types = unbound.iter().map(|(event_type, _)| *event_type).collect();
        let plain_names: Vec<String> = names.iter().map(|(name, _)| name.to_string()).collect();

        let listener = options
            .listen
            .then(|| spawn_listener(&pool, &options, Arc::clone(&wake), stopping.clone()));
        let dispatcher = Arc::new(Dispatcher::new(
            &options,
            specs.iter().map(handler).collect(),
            Arc::new(Surroundings { pool, states }),
            Arc::clone(&claims),
            Arc::clone(&settlements),
            Arc::clone(&wake),
            stopping.clone(),
        ));
        let settler = Settler {
            sessions: sessions.clone(),
            claims: Arc::clone(&claims),
            settlements: Arc::clone(&settlements),
            load: Arc::clone(&dispatcher),
            wake: Arc::clone(&wake),
            log_errors: options.log_errors,
            stopped: settled.clone(),
        };
        let recovery = Recovery::new(plain_names.clone(), &options);
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
        let mut others = vec![tokio::spawn(keep_house(sessions.clone(), names_of(specs)))];
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
        tracing::info!(handlers = names_of(specs).join(", "), "outbox: started");
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

fn spawn_listener(
    pool: &PgPool,
    options: &Options,
    wake: Arc<Wake>,
    stopping: CancellationToken,
) -> JoinHandle<()> {
    let own = Sessions::like(pool, 1, options.connect_timeout, STATEMENT_LIMIT);
    tokio::spawn(listen(own, options.channel.clone(), wake, stopping))
}

fn names_of(specs: &[&'static HandlerSpec]) -> Vec<&'static str> {
    specs.iter().map(|spec| spec.name).collect()
}

/// The names that records of these handlers stand under, former names included, each with the
/// handler that serves it.
fn lane_names(specs: &[&'static HandlerSpec]) -> Vec<(Arc<str>, usize)> {
    let names = |spec: &&'static HandlerSpec| std::iter::once(&spec.name).chain(spec.aliases);
    let each = specs.iter().enumerate();
    each.flat_map(|(i, spec)| names(spec).map(move |name| (Arc::from(*name), i)))
        .collect()
}

/// The event types that these handlers take by name, with the types' own limits.
fn unbound_types(specs: &[&'static HandlerSpec]) -> Vec<(&'static str, Option<i32>)> {
    let mut seen = HashSet::new();
    specs
        .iter()
        .flat_map(|spec| spec.patterns.iter().map(|p| (*p, spec.event_max_retries)))
        .filter(|(event_type, _)| !event_type.contains('*') && seen.insert(*event_type))
        .collect()
}

/// Their patterns that end in `*`.
fn wildcards(specs: &[&'static HandlerSpec]) -> Vec<&'static str> {
    let patterns = specs.iter().flat_map(|spec| spec.patterns.iter().copied());
    let wildcards: BTreeSet<&'static str> = patterns.filter(|p| p.contains('*')).collect();
    wildcards.into_iter().collect()
}

/// Writes which events the handlers want.
pub(super) async fn subscribe(
    sessions: &Sessions,
    specs: &[&'static HandlerSpec],
) -> sqlx::Result<()> {
    let names = names_of(specs);
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
