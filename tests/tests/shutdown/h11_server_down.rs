//! A runtime whose server is away for a while.

use std::time::Duration;

use outbox::OutboxEvent;
use outbox_tests::{Database, Logged, Server, eventually_within};

use crate::emit;

#[derive(OutboxEvent)]
#[outbox(event = "h11.happened")]
struct Happened {}

#[outbox::handler(name = "h11")]
async fn handle(_event: Happened) {}

#[tokio::test]
async fn h11_each_loop_says_each_failure_once_and_goes_on_by_itself() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let logged = Logged::here();
    let outbox = outbox::start(database.pool())
        .only(["h11"])
        .poll_interval(Duration::from_millis(10))
        .await
        .unwrap();
    emit(&database.pool(), &Happened {}).await;
    outbox.drained().await.unwrap();
    assert_eq!(logged.with("WARN"), [] as [String; 0]);

    server.stop().await;
    let loops = ["claiming failed", "listening for notifications failed"];
    eventually_within(
        Duration::from_mins(2),
        "both have failed twice",
        async || {
            let failures = loops.map(|doing| logged.with(doing).len());
            failures
                .iter()
                .all(|count| *count >= 2)
                .then_some(())
                .ok_or(failures)
        },
    )
    .await;
    server.start().await;
    let again = [
        "claiming works again",
        "listening for notifications works again",
    ];
    eventually_within(Duration::from_mins(2), "both work again", async || {
        again.iter().all(|doing| logged.with(doing).len() == 1)
    })
    .await;
    emit(&database.pool(), &Happened {}).await;
    outbox.drained().await.unwrap();
    outbox.shutdown().await.unwrap();

    // Numbered without a gap, and nothing else was said.
    let mut said = 0;
    for doing in loops {
        let entries = logged.with(doing);
        for (number, entry) in entries.iter().enumerate() {
            let expected = format!("failures={} ", number + 1);
            assert!(entry.contains(&expected), "{entries:#?}");
        }
        said += entries.len();
    }
    assert_eq!(
        logged.with("WARN").len(),
        said,
        "{:#?}",
        logged.with("WARN")
    );
}
