//! `Context`: what a handler can know is what stands in the row.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox::chrono::{DateTime, Utc};
use outbox::{Context, EventId, OutboxEvent, OutboxRecord, RecordId, State};
use outbox_tests::Database;

use crate::{emit, sent};

#[derive(OutboxEvent)]
#[outbox(event = "context.happened")]
struct Happened {}

/// Everything that `Context` tells.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    record_id: RecordId,
    event_id: EventId,
    event_type: String,
    handler: String,
    attempt: i32,
    max_retries: i32,
    is_last: bool,
    created_at: DateTime<Utc>,
    occurred_at: DateTime<Utc>,
    tenant_id: Option<String>,
    headers: BTreeMap<String, String>,
    source: Option<String>,
    correlation_id: Option<String>,
    causation_id: Option<String>,
}

type Log = Arc<Mutex<Vec<Told>>>;

/// Fails twice, so that all attempts tell.
#[outbox::handler(
    name = "context",
    max_retries = 3,
    backoff = "fixed",
    initial_delay = "1ms"
)]
async fn tell(_event: Happened, context: Context, log: State<Log>) -> Result<(), String> {
    log.lock().unwrap().push(Told {
        record_id: context.record_id(),
        event_id: context.event_id(),
        event_type: context.event_type().to_owned(),
        handler: context.handler().to_owned(),
        attempt: context.attempt(),
        max_retries: context.max_retries(),
        is_last: context.is_last(),
        created_at: context.created_at(),
        occurred_at: context.occurred_at(),
        tenant_id: context.tenant_id().map(str::to_owned),
        headers: context.headers().clone(),
        source: context.header("source").map(str::to_owned),
        correlation_id: context.correlation_id().map(str::to_owned),
        causation_id: context.causation_id().map(str::to_owned),
    });
    if context.is_last() {
        Ok(())
    } else {
        Err("again".to_owned())
    }
}

fn expected(row: &OutboxRecord, attempt: i32) -> Told {
    Told {
        record_id: row.id,
        event_id: row.event_id,
        event_type: row.event_type.clone(),
        handler: row.handler.clone().unwrap(),
        attempt,
        max_retries: row.max_retries.unwrap(),
        is_last: attempt == 3,
        created_at: row.created_at,
        occurred_at: row.occurred_at,
        tenant_id: row.tenant_id.clone(),
        headers: row.headers.clone(),
        source: row.headers.get("source").cloned(),
        correlation_id: row.correlation_id.clone(),
        causation_id: row.causation_id.clone(),
    }
}

#[tokio::test]
async fn every_method_says_what_the_row_says_in_every_attempt() {
    let database = Database::new().await;
    let log = Log::default();
    let outbox = outbox::start(database.pool())
        .only(["context"])
        .state(Arc::clone(&log))
        .await
        .unwrap();
    let pool = database.pool();
    let mut tx = pool.begin().await.unwrap();
    let occurred_at = Utc::now() - Duration::from_hours(24);
    outbox::emit(&mut tx, &Happened {})
        .tenant("acme")
        .header("source", "api")
        .header("über", "größe")
        .correlation_id("request-7")
        .causation_id("event-6")
        .occurred_at(occurred_at)
        .await
        .unwrap();
    tx.commit().await.unwrap();

    let rows = sent(&database, 1).await;
    let row = &rows[0];
    assert_eq!(row.tenant_id.as_deref(), Some("acme"));
    assert_eq!(row.headers.len(), 2);
    assert_eq!(
        row.occurred_at.timestamp_millis(),
        occurred_at.timestamp_millis()
    );
    let told = log.lock().unwrap().clone();
    assert_eq!(told, [1, 2, 3].map(|attempt| expected(row, attempt)));
    outbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_was_not_said_is_none() {
    let database = Database::new().await;
    let log = Log::default();
    let outbox = outbox::start(database.pool())
        .only(["context"])
        .state(Arc::clone(&log))
        .await
        .unwrap();
    emit(&database.pool(), &Happened {}).await;

    let rows = sent(&database, 1).await;
    let told = log.lock().unwrap().clone();
    assert_eq!(told, [1, 2, 3].map(|attempt| expected(&rows[0], attempt)));
    let first = &told[0];
    assert_eq!(first.created_at, first.occurred_at);
    assert_eq!(
        (&first.tenant_id, &first.correlation_id, &first.causation_id),
        (&None, &None, &None)
    );
    assert_eq!((first.headers.len(), &first.source), (0, &None));
    outbox.shutdown().await.unwrap();
}
