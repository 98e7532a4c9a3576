//! However a handler fails, the attempt is recorded, its slot is free again, and others go on.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod captured;
mod e12_moved_and_renamed;
mod e13_sources;
mod e1_texts;
mod e8_one_undecodable;
mod f1_panics;
mod logs;
mod results;
mod timeouts;

use std::time::Duration;

use outbox::{Backoff, OutboxRecord, Retry, Status};

/// Retries without a delay.
fn at_once() -> Retry {
    Retry::default()
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::ZERO)
}

/// `emitted` as its last attempt's failure leaves it: `row` says when, and nothing else.
fn failed(emitted: &OutboxRecord, error: &str, row: &OutboxRecord) -> OutboxRecord {
    OutboxRecord {
        status: Status::Failed,
        retry_count: emitted.max_retries.unwrap(),
        last_error: Some(error.to_owned()),
        next_attempt_at: row.next_attempt_at,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        failed_at: Some(row.updated_at),
        ..emitted.clone()
    }
}

/// `emitted` as the first attempt's success leaves it: `row` says when, and nothing else.
fn sent(emitted: &OutboxRecord, row: &OutboxRecord) -> OutboxRecord {
    OutboxRecord {
        status: Status::Sent,
        updated_at: row.updated_at,
        processed_at: Some(row.updated_at),
        ..emitted.clone()
    }
}
