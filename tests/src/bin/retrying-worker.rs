//! Runs a handler that fails until the attempt that its event names, and tells PostgreSQL of each
//! attempt. Ended by a kill.
//!
//! `INITIAL_DELAY_MS` is the fixed delay, `MAX_RETRIES` the runtime's limit; with `EMIT` it emits an
//! event of that JSON, due in an hour.

#![allow(clippy::print_stdout, reason = "the test reads it")]

use std::time::{Duration, SystemTime};

use outbox::sqlx::{self, PgPool};
use outbox::{Backoff, Context, OutboxEvent, Retry, serde_json};

#[derive(OutboxEvent)]
#[outbox(event = "retrying_worker.asked")]
struct Asked {
    /// The first attempt that succeeds.
    good: i32,
}

#[outbox::handler(event = "retrying_worker.asked", name = "retrying_worker")]
async fn asked(event: Asked, context: Context, pool: PgPool) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO attempts (record, attempt) VALUES ($1, $2)")
        .bind(context.record_id())
        .bind(context.attempt())
        .execute(&pool)
        .await?;
    anyhow::ensure!(
        context.attempt() >= event.good,
        "attempt {}",
        context.attempt()
    );
    Ok(())
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = PgPool::connect(&std::env::var("DATABASE_URL")?).await?;
    let delay = Duration::from_millis(variable("INITIAL_DELAY_MS").unwrap_or(1_000));
    let mut retry = Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(delay);
    if let Some(attempts) = variable("MAX_RETRIES") {
        retry = retry.max_retries(attempts);
    }
    let _outbox = outbox::start(pool.clone())
        .retry(retry)
        .poll_interval(Duration::from_millis(20))
        .await?;
    if let Ok(event) = std::env::var("EMIT") {
        let value: serde_json::Value = serde_json::from_str(&event)?;
        let good = value["good"].as_i64().unwrap_or_default();
        let mut tx = pool.begin().await?;
        outbox::emit(
            &mut tx,
            &Asked {
                good: i32::try_from(good)?,
            },
        )
        .delay(Duration::from_hours(1))
        .await?;
        tx.commit().await?;
    }
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    println!("clock {}", clock.as_secs());
    println!("ready");
    std::future::pending().await
}
