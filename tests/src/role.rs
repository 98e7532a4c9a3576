//! What a worker program does, whatever handlers it links.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use outbox::serde_json::{Value, from_str};
use outbox::sqlx::PgPool;
use outbox::{Outbox, RawEvent};

/// Does what the program's arguments say, on the database of `DATABASE_URL`:
///
/// - `run`: starts, and shuts down on SIGTERM;
/// - `emit TYPE PAYLOAD`: emits one event;
/// - `run-and-emit TYPE PAYLOAD`: both;
/// - `migrate`: migrates.
///
/// It reports on standard output: `started`, `refused …` with every problem, `emitted ID`,
/// `migrated`, `stopped`.
///
/// # Errors
///
/// When the arguments or the database are not as they should be.
#[allow(clippy::print_stdout, reason = "the test reads it")]
pub fn play_role() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let url = std::env::var("DATABASE_URL").context("DATABASE_URL")?;
        let pool = PgPool::connect_lazy(&url)?;
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments[..] {
            ["run"] => {
                let outbox = start(pool).await?;
                run(&outbox).await
            }
            ["emit", event_type, payload] => emit(&pool, event_type, payload).await,
            ["run-and-emit", event_type, payload] => {
                let outbox = start(pool.clone()).await?;
                emit(&pool, event_type, payload).await?;
                run(&outbox).await
            }
            ["migrate"] => {
                outbox::migrate(&pool).await?;
                println!("migrated");
                Ok(())
            }
            _ => bail!("unknown arguments {arguments:?}"),
        }
    })
}

#[allow(clippy::print_stdout, reason = "the test reads it")]
async fn start(pool: PgPool) -> Result<Outbox> {
    let started = outbox::start(pool)
        .poll_interval(Duration::from_millis(100))
        .await;
    match &started {
        Ok(_) => println!("started"),
        Err(error) => println!("refused {}", error.to_string().replace('\n', " ")),
    }
    Ok(started?)
}

#[allow(clippy::print_stdout, reason = "the test reads it")]
async fn run(outbox: &Outbox) -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    outbox.run_until(terminate.recv()).await?;
    println!("stopped");
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the test reads it")]
async fn emit(pool: &PgPool, event_type: &str, payload: &str) -> Result<()> {
    let payload: Value = from_str(payload)?;
    let mut tx = pool.begin().await?;
    let id = outbox::emit(&mut tx, &RawEvent::new(event_type, &payload)).await?;
    tx.commit().await?;
    println!("emitted {id}");
    Ok(())
}
