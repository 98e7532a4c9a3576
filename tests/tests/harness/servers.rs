//! Throwaway servers.

use std::path::Path;
use std::process::Command;

use outbox_tests::{Database, Server, Worker, eventually};
use sqlx::Connection;

fn runs(pid: &str) -> bool {
    let check = Command::new("kill").args(["-0", pid]).output();
    check.unwrap().status.success()
}

#[tokio::test]
async fn ends_with_its_process_even_by_kill_9() {
    let mut process = Worker::spawn(env!("CARGO_BIN_EXE_throwaway-server"), "");
    let pid = process.line("pid ").await;
    let directory = process.line("directory ").await;
    assert!(runs(&pid) && Path::new(&directory).exists());

    process.kill();

    eventually("the server ends", async || !runs(&pid)).await;
    eventually("its directory goes", async || {
        !Path::new(&directory).exists()
    })
    .await;
}

#[tokio::test]
async fn comes_back_on_its_port_with_its_data() {
    let server = Server::launch().unwrap();
    let database = Database::on(&server).await;
    let url = database.url().to_owned();
    let pid = server.postmaster_pid();
    sqlx::query("INSERT INTO outbox_events (event_type, payload) VALUES ('a', '{}')")
        .execute(&database.pool())
        .await
        .unwrap();
    // A crash without fsync keeps only what has reached a file.
    sqlx::query("CHECKPOINT")
        .execute(&database.pool())
        .await
        .unwrap();

    server.stop().await;
    assert!(sqlx::PgConnection::connect(&url).await.is_err());
    server.start().await;

    assert_ne!(server.postmaster_pid(), pid);
    assert_eq!(database.url(), url);
    let mut connection = database.connect().await;
    assert_eq!(outbox_tests::rows(&mut connection).await.unwrap().len(), 1);

    let directory = server.directory().to_owned();
    drop(server);
    assert!(!directory.exists());
}
