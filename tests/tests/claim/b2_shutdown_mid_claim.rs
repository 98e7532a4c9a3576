//! B2: shutting down while a claim is on its way.

use std::time::Duration;

use outbox::{OutboxEvent, OutboxRecord};
use outbox_tests::Database;

use crate::emit;

#[derive(OutboxEvent)]
#[outbox(event = "b2_shutdown_mid_claim.told")]
struct Told {}

#[outbox::handler(event = "b2_shutdown_mid_claim.told", name = "b2_shutdown_mid_claim")]
async fn hang(_: Told) {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn b2_no_row_stays_claimed_and_no_attempt_is_charged() {
    let database = Database::new().await;
    let told: Vec<Told> = (0..50).map(|_| Told {}).collect();
    emit(&database, &told).await;
    let emitted = database.rows().await;
    let mut claims = 0;
    for round in 0..100_u64 {
        let outbox = outbox::start(database.pool())
            .only(["b2_shutdown_mid_claim"])
            .concurrency(20)
            .listen(false)
            .shutdown_timeout(Duration::ZERO)
            .await
            .unwrap();
        // The first claim goes out at once.
        tokio::time::sleep(Duration::from_micros(round * 60)).await;
        outbox.shutdown().await.unwrap();

        let rows = database.rows().await;
        for (row, emitted) in rows.iter().zip(&emitted) {
            let expected = OutboxRecord {
                next_attempt_at: row.next_attempt_at,
                updated_at: row.updated_at,
                ..emitted.clone()
            };
            assert_eq!(*row, expected, "round {round}");
        }
        let released = |(row, emitted): (&OutboxRecord, &OutboxRecord)| {
            row.updated_at > emitted.updated_at && Some(row.updated_at) == row.next_attempt_at
        };
        claims += rows
            .iter()
            .zip(&emitted)
            .filter(|pair| released(*pair))
            .count();
    }
    assert!(
        claims > 0,
        "some shutdowns came after a claim had been sent"
    );
}
