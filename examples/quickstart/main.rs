//! An order service: each order and its event are written in one transaction, and two handlers
//! hear of it. One of them has a mail server that is busy at first.
//!
//! `cargo run --example quickstart` brings its own PostgreSQL; set `DATABASE_URL` to take another.

#![allow(clippy::print_stdout, reason = "the example tells what it does")]

mod watch;

use anyhow::ensure;
use outbox::sqlx::{self, PgPool, Postgres, Transaction};
use outbox::{Context, EventId, OutboxEvent, State};

use crate::watch::{Watch, say};

/// The event type is "order.created", the payload this struct as JSON.
#[derive(OutboxEvent)]
struct OrderCreated {
    order_id: i64,
    customer: String,
    total_cents: i64,
}

/// Runs for every order until it returns `Ok`, up to five times: after 300 ms, 600 ms, …
#[outbox::handler(event = "order.created", max_retries = 5, initial_delay = "300ms")]
async fn send_confirmation(
    event: OrderCreated,
    context: Context,
    State(mailer): State<Mailer>,
) -> anyhow::Result<()> {
    watch::attempt(&context, event.order_id);
    mailer.send(&event.customer, event.total_cents, context.attempt())
}

/// Has a record of its own: what happens to the mail is nothing to it.
#[outbox::handler(event = "order.created")]
async fn index_order(event: OrderCreated, context: Context) {
    watch::attempt(&context, event.order_id);
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let database = outbox_examples::Database::open()?;
    let pool = PgPool::connect(database.url()).await?;
    outbox::migrate(&pool).await?;
    create_orders_table(&pool).await?;

    let outbox = outbox::start(pool.clone())
        .state(Mailer { busy_for: 2 })
        .await?;

    let mut watch = Watch::new(pool.clone());
    for (customer, total_cents) in [("Ada", 1_250), ("Grace", 9_900)] {
        let mut tx = pool.begin().await?;
        let (order_id, event_id) = place_order(&mut tx, customer, total_cents).await?;
        tx.commit().await?;
        say!("order {order_id} of {customer} committed, with its event");
        watch.add(event_id, order_id);
    }

    let mut tx = pool.begin().await?;
    let (order_id, event_id) = place_order(&mut tx, "Nobody", 1).await?;
    tx.rollback().await?;
    let rows = outbox_examples::rows_of(&pool, &[event_id]).await?;
    say!(
        "order {order_id} rolled back: {} rows of its event",
        rows.len()
    );

    // Returns when nothing waits for a first or another attempt.
    watch.until(outbox.drained()).await?;
    outbox.shutdown().await?;

    println!("\n{}", outbox_examples::table(&watch.rows().await?));
    Ok(())
}

/// The order and its event: both are there when `tx` is committed, or neither.
async fn place_order(
    tx: &mut Transaction<'_, Postgres>,
    customer: &str,
    total_cents: i64,
) -> anyhow::Result<(i64, EventId)> {
    let order_id = sqlx::query_scalar(
        "INSERT INTO quickstart_orders (customer, total_cents) VALUES ($1, $2) RETURNING id",
    )
    .bind(customer)
    .bind(total_cents)
    .fetch_one(&mut **tx)
    .await?;
    let event = OrderCreated {
        order_id,
        customer: customer.to_owned(),
        total_cents,
    };
    let event_id = outbox::emit(tx, &event).await?;
    Ok((order_id, event_id))
}

async fn create_orders_table(pool: &PgPool) -> sqlx::Result<()> {
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS quickstart_orders (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             customer text NOT NULL,
             total_cents bigint NOT NULL
         )",
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// A mail server that is busy for the first attempts at each mail.
#[derive(Clone)]
struct Mailer {
    busy_for: i32,
}

impl Mailer {
    fn send(&self, to: &str, total_cents: i64, attempt: i32) -> anyhow::Result<()> {
        ensure!(attempt > self.busy_for, "the mail server is busy");
        say!("mail to {to}: thank you for {total_cents} cents");
        Ok(())
    }
}
