//! A record on its way: emitted, hurried, followed from state to state.

use outbox::{Emit, OutboxEvent, OutboxRecord, RecordId};
use sqlx::{PgPool, query, raw_sql};

use crate::database::Database;
use crate::eventually::eventually;
use crate::rows::records;

/// Keeps every state that a statement gives a record. Moving `next_attempt_at` gives it none.
const HISTORY: &str = "
    CREATE TABLE history (LIKE outbox_events, n bigint GENERATED ALWAYS AS IDENTITY);
    CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO history SELECT NEW.*;
        RETURN NULL;
      END $$;
    CREATE TRIGGER keep_history AFTER INSERT OR UPDATE OF status ON outbox_events
      FOR EACH ROW EXECUTE FUNCTION keep_history();
";

impl Database {
    /// Commits `event`, for one handler, and returns its record as it was written.
    pub async fn emit<E: OutboxEvent>(&self, event: &E) -> OutboxRecord {
        self.emit_with(event, |emit| emit).await
    }

    /// As [`emit`](Self::emit), with settings of the emit call.
    pub async fn emit_with<E: OutboxEvent>(
        &self,
        event: &E,
        settings: impl for<'c> FnOnce(Emit<'c>) -> Emit<'c>,
    ) -> OutboxRecord {
        let mut tx = self.pool().begin().await.expect("a transaction");
        let emit = settings(outbox::emit(&mut tx, event));
        let event_id = emit.await.expect("the event is emitted");
        // Before anyone else can see it.
        let mut written = records("outbox_events WHERE event_id = $1")
            .bind(event_id)
            .fetch_all(&mut *tx)
            .await
            .expect("the row can be read");
        assert_eq!(written.len(), 1, "one handler, one record: {written:?}");
        tx.commit().await.expect("the transaction commits");
        written.remove(0)
    }

    /// The record as it is now.
    pub async fn row(&self, id: RecordId) -> OutboxRecord {
        self.try_row(id).await.expect("the row can be read")
    }

    /// As [`row`](Self::row), where the server may be away.
    ///
    /// # Errors
    ///
    /// When the row can't be read.
    pub async fn try_row(&self, id: RecordId) -> sqlx::Result<OutboxRecord> {
        records("outbox_events WHERE id = $1")
            .bind(id)
            .fetch_one(&self.pool())
            .await
    }

    /// The record, once it is as `condition` wants it.
    #[track_caller]
    pub fn row_when(
        &self,
        id: RecordId,
        condition: impl Fn(&OutboxRecord) -> bool,
    ) -> impl Future<Output = OutboxRecord> {
        eventually("the record is as expected", async move || {
            match self.try_row(id).await {
                Ok(row) if condition(&row) => Ok(row),
                other => Err(other),
            }
        })
    }

    /// The record, once it is SENT or FAILED.
    #[track_caller]
    pub fn row_when_ended(&self, id: RecordId) -> impl Future<Output = OutboxRecord> {
        self.row_when(id, |row| row.processed_at.is_some())
    }

    /// The record, once it is SENT or FAILED; until then, whenever it waits for its time, that time
    /// has come. What delay was stored, the history says.
    #[track_caller]
    pub fn row_when_hurried(&self, id: RecordId) -> impl Future<Output = OutboxRecord> {
        eventually("the record is SENT or FAILED", async move || {
            self.make_due(id).await;
            match self.try_row(id).await {
                Ok(row) if row.processed_at.is_some() => Ok(row),
                other => Err(other),
            }
        })
    }

    /// Moves the record's due time to now, if it waits, and wakes the pollers.
    pub async fn make_due(&self, id: RecordId) {
        make_due(&self.pool(), id)
            .await
            .expect("the schedule can be moved");
    }

    /// From now on keeps every state of every record.
    pub async fn keep_history(&self) {
        let done = raw_sql(HISTORY).execute(&self.pool()).await;
        done.expect("the trigger can be made");
    }

    /// The record's states since [`keep_history`](Self::keep_history), in their order.
    pub async fn history(&self, id: RecordId) -> Vec<OutboxRecord> {
        records("history WHERE id = $1 ORDER BY n")
            .bind(id)
            .fetch_all(&self.pool())
            .await
            .expect("the history can be read")
    }
}

async fn make_due(pool: &PgPool, id: RecordId) -> sqlx::Result<()> {
    query(
        "WITH moved AS (
           UPDATE outbox_events SET next_attempt_at = clock_timestamp()
           WHERE id = $1 AND status = 'PENDING' AND next_attempt_at > clock_timestamp() RETURNING id)
         SELECT pg_notify('outbox_events', '') FROM moved",
    )
    .bind(id)
    .execute(pool)
    .await
    .map(|_| ())
}
