//! What a batch needs of memory: a process of its own, because the peak is the process's.

#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

use outbox::{RawEvent, serde_json::json};
use outbox_tests::Database;
use sqlx::query;

/// The peak of this process's memory, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// 150 MB of JSON from one event that stands in the batch again and again.
#[tokio::test]
async fn e10_a_batch_needs_no_memory_for_all_its_payloads() {
    let database = Database::new().await;
    let event = RawEvent::new("emit_memory.repeated", &json!("x".repeat(1_000_000)));
    let mut tx = database.pool().begin().await.unwrap();
    let before = peak();
    let ids = outbox::emit_many(&mut tx, std::iter::repeat_n(&event, 150))
        .await
        .unwrap();
    let grown = peak() - before;
    assert_eq!(ids.len(), 150);
    assert!(grown < 110 * 1024, "{grown} KiB");
    query("ROLLBACK").execute(&mut *tx).await.unwrap();
}
