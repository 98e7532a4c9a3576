//! A worker for tests that stop, kill and start it again, and whose handler may end it.
//!
//! Records of the handler `worker` say what to do by their payload's `act`, the process by the
//! environment variable `ACT` where the payload doesn't; `GATE` is an advisory lock to wait for
//! first. Reports `started`, `begins <record>`, `tasks <count>` when it changes, and what is logged
//! as `log …`.

#![allow(clippy::print_stdout, clippy::panic, reason = "the test reads it")]

use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use outbox::sqlx::PgPool;
use outbox::{Context, Lease, OutboxEvent};
use outbox_tests::Logged;
use tokio::signal::unix::{SignalKind, signal};

#[derive(OutboxEvent)]
#[outbox(event = "worker.told")]
struct Told {
    act: Option<String>,
}

#[outbox::handler(event = "worker.told", name = "worker", initial_delay = "1h")]
async fn worker(event: Told, context: Context, pool: PgPool) -> anyhow::Result<()> {
    println!("begins {}", context.record_id());
    if let Some(gate) = setting::<i64>("GATE") {
        outbox::sqlx::query("SELECT pg_advisory_xact_lock_shared($1)")
            .bind(gate)
            .execute(&pool)
            .await?;
    }
    let act = event.act.or_else(|| setting("ACT"));
    match act.as_deref() {
        Some("abort") => std::process::abort(),
        Some("fail") => anyhow::bail!("failed as told"),
        Some("panic") => panic!("panicked as told"),
        Some("slow") => tokio::time::sleep(Duration::from_millis(100)).await,
        _ => {}
    }
    Ok(())
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let logged = Logged::here();
    let url: String = setting("DATABASE_URL").context("DATABASE_URL")?;
    let lease = Duration::from_millis(setting("LEASE_MS").unwrap_or(1_000));
    let outbox = outbox::start(PgPool::connect(&url).await?)
        .poll_interval(Duration::from_millis(100))
        .lease(Lease::default().duration(lease))
        .max_recoveries(setting("MAX_RECOVERIES").unwrap_or(10))
        .cancel_grace(Duration::from_millis(setting("GRACE_MS").unwrap_or(1_000)))
        .await?;
    println!("started");
    let mut terminate = signal(SignalKind::terminate())?;
    let mut told = 0;
    let tell = |told: &mut usize| {
        for entry in logged.with("").iter().skip(*told) {
            println!("log {entry}");
            *told += 1;
        }
    };
    let mut tasks = 0;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            () = tokio::time::sleep(Duration::from_millis(20)) => tell(&mut told),
        }
        let alive = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        if alive != tasks {
            println!("tasks {alive}");
            tasks = alive;
        }
    }
    let result = outbox.shutdown().await;
    tell(&mut told);
    Ok(result?)
}
