//! A shutdown that meets a claim on its way.

use std::time::{Duration, Instant};

use outbox::{OutboxEvent, State, Status};
use outbox_tests::Database;

use crate::{Gate, emit};

#[derive(OutboxEvent)]
#[outbox(event = "b2.happened")]
struct Happened {}

#[outbox::handler(name = "b2")]
async fn handle(_event: Happened, gate: State<Gate>) {
    gate.pass().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b2_no_row_stays_claimed_and_no_attempt_is_charged() {
    let database = Database::new().await;
    let pool = database.pool();
    for _ in 0..20 {
        emit(&pool, &Happened {}).await;
    }
    let before = database.rows().await;
    let mut claims = 0;
    // How long it takes from the start to the handlers, here and now.
    let mut way = Duration::ZERO;
    for step in 0..100 {
        let gate = Gate::closed();
        let outbox = outbox::start(pool.clone())
            .only(["b2"])
            .listen(false)
            .poll_interval(Duration::from_millis(1))
            .shutdown_timeout(Duration::ZERO)
            .cancel_grace(Duration::ZERO)
            .state(gate.clone())
            .await
            .unwrap();
        if step == 0 {
            let started = Instant::now();
            gate.arrivals(20).await;
            way = started.elapsed();
        }
        // From at once to a time when the handlers run.
        tokio::time::sleep(way * step / 75).await;
        outbox.shutdown().await.unwrap();
        claims += gate.arrived();

        let rows = database.rows().await;
        assert_eq!(rows.len(), before.len());
        for (row, before) in rows.iter().zip(&before) {
            let mut expected = before.clone();
            expected.next_attempt_at = row.next_attempt_at;
            expected.updated_at = row.updated_at;
            assert_eq!(*row, expected, "step {step}");
            assert_eq!(row.status, Status::Pending);
        }
    }
    assert!(claims > 0, "some shutdowns came after the claim");
}
