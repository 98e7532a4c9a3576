//! Tells what happens to the records, as it happens: from the handlers' contexts and from the rows.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use outbox::sqlx::PgPool;
use outbox::{Context, EventId, OutboxRecord, Status};

/// When the example first said something.
pub(crate) static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints a line with the time that has passed.
macro_rules! say {
    ($($format:tt)+) => {
        println!("{:6.3} s  {}", $crate::watch::BEGIN.elapsed().as_secs_f64(), format_args!($($format)+))
    };
}
pub(crate) use say;

/// An attempt begins.
pub(crate) fn attempt(context: &Context, order_id: i64) {
    say!(
        "{}, order {order_id}: attempt {} of {}",
        context.handler(),
        context.attempt(),
        context.max_retries(),
    );
}

/// The rows of some events, and which of their results were told.
pub(crate) struct Watch {
    pool: PgPool,
    orders: HashMap<EventId, i64>,
    told: HashSet<String>,
}

impl Watch {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            orders: HashMap::new(),
            told: HashSet::new(),
        }
    }

    pub(crate) fn add(&mut self, event: EventId, order_id: i64) {
        self.orders.insert(event, order_id);
    }

    /// Tells every result until `done`.
    pub(crate) async fn until<E>(
        &mut self,
        done: impl Future<Output = Result<(), E>>,
    ) -> anyhow::Result<()>
    where
        anyhow::Error: From<E>,
    {
        let mut done = std::pin::pin!(done);
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        loop {
            tokio::select! {
                result = &mut done => {
                    result?;
                    return self.tell().await;
                }
                _ = ticks.tick() => self.tell().await?,
            }
        }
    }

    async fn tell(&mut self) -> anyhow::Result<()> {
        for row in self.rows().await? {
            let Some(result) = result(&row) else { continue };
            let handler = row.handler.unwrap_or_default();
            let order_id = self.orders[&row.event_id];
            let line = format!("{handler}, order {order_id}: {result}");
            if self.told.insert(line.clone()) {
                say!("{line}");
            }
        }
        Ok(())
    }

    /// The rows as they are now.
    pub(crate) async fn rows(&self) -> anyhow::Result<Vec<OutboxRecord>> {
        let events: Vec<EventId> = self.orders.keys().copied().collect();
        Ok(outbox_examples::rows_of(&self.pool, &events).await?)
    }
}

/// What a row says of its last attempt.
fn result(row: &OutboxRecord) -> Option<String> {
    let error = row.last_error.as_deref().unwrap_or_default();
    match row.status {
        // The failure was written at `updated_at`, with the time of the next attempt.
        Status::Pending if row.retry_count > 0 => {
            let delay = row.next_attempt_at? - row.updated_at;
            Some(format!(
                "attempt {} failed ({error}), the next in {} ms",
                row.retry_count,
                delay.num_milliseconds()
            ))
        }
        Status::Sent => Some(format!("delivered at attempt {}", row.retry_count + 1)),
        Status::Failed => Some(format!(
            "given up after attempt {} ({error})",
            row.retry_count
        )),
        Status::Pending | Status::Processing => None,
    }
}
