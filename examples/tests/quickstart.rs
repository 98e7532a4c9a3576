//! The quickstart, run as a user runs it: what it prints is what the rows say.

use std::path::PathBuf;
use std::process::Command;

use outbox::{OutboxRecord, Status};
use outbox_tests::Database;

/// Cargo builds the examples before the tests of a package, beside them.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.ancestors().nth(2).expect("it stands in target/…/deps");
    profile.join("examples").join("quickstart")
}

#[tokio::test]
async fn it_tells_what_the_rows_say() {
    let database = Database::empty().await;
    let url = database.url().to_owned();
    let output = tokio::task::spawn_blocking(move || {
        Command::new(example()).env("DATABASE_URL", url).output()
    })
    .await
    .expect("running it does not panic")
    .expect("`cargo build --examples` has built it");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");

    let rows = database.rows().await;
    assert!(
        rows.iter().all(|row| row.status == Status::Sent),
        "{rows:?}"
    );
    let of = |handler: &str| -> Vec<OutboxRecord> {
        let rows = rows.iter();
        rows.filter(|row| row.handler.as_deref() == Some(handler))
            .cloned()
            .collect()
    };
    let (mails, index) = (of("send_confirmation"), of("index_order"));
    assert_eq!(
        (mails.len(), index.len(), rows.len()),
        (2, 2, 4),
        "{rows:?}"
    );
    assert!(mails.iter().all(|row| row.retry_count == 2), "{mails:?}");
    assert!(index.iter().all(|row| row.retry_count == 0), "{index:?}");

    for mail in &mails {
        let order = format!("send_confirmation, order {}: ", mail.payload["order_id"]);
        let told: Vec<&str> = stdout
            .lines()
            .filter_map(|line| Some(line.split_once(&order)?.1))
            .collect();
        // The watcher looks at the rows now and then: a busy machine may let it miss a failure
        // that is already being tried again, never a handler's own line or the end.
        let (failures, others): (Vec<&str>, Vec<&str>) =
            told.into_iter().partition(|line| line.contains("failed"));
        assert_eq!(
            others,
            [
                "attempt 1 of 5",
                "attempt 2 of 5",
                "attempt 3 of 5",
                "delivered at attempt 3"
            ],
            "{stdout}"
        );
        for failure in failures {
            assert!(
                [
                    "attempt 1 failed (the mail server is busy), the next in 300 ms",
                    "attempt 2 failed (the mail server is busy), the next in 600 ms",
                ]
                .contains(&failure),
                "{stdout}"
            );
        }
    }
    assert!(
        stdout.contains("rolled back: 0 rows of its event"),
        "{stdout}"
    );
    // The table at the end has every row.
    let table = stdout
        .lines()
        .skip_while(|line| !line.starts_with("event_type"));
    assert_eq!(
        table.filter(|line| line.contains("SENT")).count(),
        4,
        "{stdout}"
    );
}
