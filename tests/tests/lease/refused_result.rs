//! A result that the server refuses: others are stored, and its claim is not kept for ever.

use std::time::Duration;

use outbox::{OutboxEvent, Status};
use outbox_tests::{Database, eventually};

use crate::{emit, lease};

#[derive(OutboxEvent)]
#[outbox(event = "refused_result.told")]
struct Told {
    refused: bool,
}

#[outbox::handler(event = "refused_result.told", name = "refused_result")]
async fn told(event: Told) {
    let _ = event.refused;
}

#[tokio::test]
async fn others_are_stored_and_recovery_bounds_the_one() {
    let database = Database::new().await;
    sqlx::raw_sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'refused'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON outbox_events FOR EACH ROW
           WHEN (NEW.status = 'SENT' AND NEW.payload = '{\"refused\": true}') EXECUTE FUNCTION refuse()",
    )
    .execute(&database.pool())
    .await
    .unwrap();
    let events: Vec<Told> = (0..20).map(|n| Told { refused: n == 7 }).collect();
    emit(&database, &events).await;
    let outbox = outbox::start(database.pool())
        .only(["refused_result"])
        .poll_interval(Duration::from_millis(50))
        .lease(lease(300))
        .max_recoveries(2)
        .await
        .unwrap();
    let rows = eventually("each has come to its end", async || {
        let rows = database.rows().await;
        rows.iter()
            .all(|row| row.processed_at.is_some())
            .then_some(rows)
            .ok_or("not yet")
    })
    .await;
    outbox.shutdown().await.unwrap();
    for row in rows {
        let refused = row.payload["refused"] == true;
        let status = if refused {
            Status::Failed
        } else {
            Status::Sent
        };
        assert_eq!((row.status, row.retry_count), (status, 0), "{row:?}");
        let lost = row
            .last_error
            .as_deref()
            .is_some_and(|text| text.contains("lease was lost"));
        assert_eq!(lost, refused, "{row:?}");
    }
}
