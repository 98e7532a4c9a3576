//! E12: a handler's function moved to another module, or was renamed with an alias.

use std::sync::{Arc, Mutex};

use outbox::uuid::Uuid;
use outbox::{Admin, Context, Mutation, OutboxEvent, RecordId, State, Status};
use outbox_tests::Database;

#[derive(OutboxEvent)]
#[outbox(event = "e12.asked")]
struct Asked;

#[derive(OutboxEvent)]
#[outbox(event = "e12.shipped")]
struct Shipped;

/// The names under which attempts came, and their numbers.
type Seen = Arc<Mutex<Vec<(String, i32)>>>;

fn note(context: &Context, seen: &Seen) {
    let attempt = (context.handler().to_owned(), context.attempt());
    seen.lock().unwrap().push(attempt);
}

/// Where the function stands says nothing to the records.
mod mail {
    pub(super) mod confirmations {
        use super::super::{Asked, Context, Seen, State, note};

        #[outbox::handler(
            event = "e12.asked",
            name = "e12_renamed",
            alias = ["e12_former", "e12_first"]
        )]
        pub(crate) async fn renamed(_: Asked, context: Context, State(seen): State<Seen>) {
            note(&context, &seen);
        }

        use super::super::Shipped;

        #[outbox::handler(event = "e12.shipped")]
        pub(crate) async fn e12_moved(_: Shipped, context: Context, State(seen): State<Seen>) {
            note(&context, &seen);
        }
    }
}

/// A record as the version before has left it: after the columns that every one has.
async fn left(database: &Database, event: &str, handler: &str, state: &str) -> RecordId {
    let id: Uuid = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "INSERT INTO outbox_events (event_type, payload, handler, max_retries, retry_count, status,
           next_attempt_at, claim_token, lease_expires_at, claimed_by, processed_at, failed_at, last_error)
         SELECT $1, 'null', $2, 5, {state} RETURNING id"
    )))
    .bind(event)
    .bind(handler)
    .fetch_one(&database.pool())
    .await
    .unwrap();
    id.into()
}

const WAITS: &str = "0, 'PENDING', now(), NULL, NULL, NULL, NULL, NULL, NULL";
const TRIED: &str = "2, 'PENDING', now() + '1 h', NULL, NULL, NULL, NULL, NULL, 'no'";
const CLAIMED: &str =
    "0, 'PROCESSING', now(), gen_random_uuid(), now() - interval '1 s', 'gone', NULL, NULL, NULL";
const FAILED: &str = "5, 'FAILED', now(), NULL, NULL, NULL, now(), now(), 'no'";

async fn all_are_delivered(event: &str, former: &str, handler: &str) {
    let database = Database::new().await;
    let waits = left(&database, event, former, WAITS).await;
    let tried = left(&database, event, former, TRIED).await;
    let claimed = left(&database, event, former, CLAIMED).await;
    let failed = left(&database, event, former, FAILED).await;
    let seen = Seen::default();
    let outbox = outbox::start(database.pool())
        .only([handler])
        .state(Arc::clone(&seen))
        .await
        .unwrap();
    let applied = Admin::operator(database.pool())
        .retry(failed)
        .await
        .unwrap();
    assert_eq!(applied, Mutation::Applied);
    for (id, retry_count, last_error) in [
        (waits, 0, None),
        (claimed, 0, None),
        (tried, 2, Some("no")),
        (failed, 5, None),
    ] {
        let before = database.row(id).await;
        let row = database.row_when_hurried(id).await;
        // Delivered under the name that it stands under.
        assert_eq!(
            (
                row.status,
                row.handler.as_deref(),
                row.retry_count,
                row.last_error.as_deref()
            ),
            (Status::Sent, Some(former), retry_count, last_error),
            "{before:?}"
        );
    }
    outbox.shutdown().await.unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    let expected = [1, 1, 3, 6].map(|attempt| (former.to_owned(), attempt));
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn e12_a_renamed_handler_gets_the_records_of_its_former_name() {
    all_are_delivered("e12.asked", "e12_former", "e12_renamed").await;
}

#[tokio::test]
async fn e12_and_of_the_name_before_that() {
    all_are_delivered("e12.asked", "e12_first", "e12_renamed").await;
}

#[tokio::test]
async fn e12_a_moved_function_keeps_its_records() {
    all_are_delivered("e12.shipped", "e12_moved", "e12_moved").await;
}

/// The former name is still subscribed, and gets no record of its own any more.
#[tokio::test]
async fn e12_a_former_names_subscription_is_no_second_record() {
    let database = Database::new().await;
    sqlx::query(
        "INSERT INTO outbox_handlers (handler, patterns) VALUES ('e12_former', '{e12.asked}')",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let outbox = outbox::start(database.pool())
        .only(["e12_renamed"])
        .state(Seen::default())
        .await
        .unwrap();
    let emitted = database.emit(&Asked).await;
    assert_eq!(emitted.handler.as_deref(), Some("e12_renamed"));
    let row = database.row_when_ended(emitted.id).await;
    assert_eq!(row, crate::sent(&emitted, &row));
    outbox.shutdown().await.unwrap();
    assert_eq!(database.rows().await.len(), 1);
}
