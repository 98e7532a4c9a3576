//! Every CHECK, by its name: what it refuses. A new CHECK without a case here fails the test.

use std::collections::BTreeSet;

use outbox_tests::Database;
use sqlx::{AssertSqlSafe, query, query_scalar};

/// The constraint, the table, and a row as columns and values that only this one refuses.
const REFUSED: &[(&str, &str, &str)] = &[
    ("outbox_events_type_is_canonical", "event_type", "''"),
    ("outbox_events_type_is_canonical", "event_type", "' a'"),
    ("outbox_events_type_is_canonical", "event_type", r"E'a\n'"),
    ("outbox_events_type_is_canonical", "event_type", r"E'\x0ba'"),
    ("outbox_events_type_is_canonical", "event_type", "'order.*'"),
    (
        "outbox_events_handler_is_named",
        "handler, max_retries",
        "'', 5",
    ),
    ("outbox_events_headers_are_an_object", "headers", "'[]'"),
    ("outbox_events_headers_are_an_object", "headers", "'null'"),
    ("outbox_events_status_is_known", "status", "'DONE'"),
    ("outbox_events_status_is_known", "status", "'pending'"),
    (
        "outbox_events_retry_count_is_not_negative",
        "retry_count",
        "-1",
    ),
    (
        "outbox_events_recovery_count_is_not_negative",
        "recovery_count",
        "-1",
    ),
    ("outbox_events_max_retries_is_positive", "max_retries", "0"),
    ("outbox_events_max_retries_is_positive", "max_retries", "-1"),
    ("outbox_events_bound_means_limited", "handler", "'h'"),
    (
        "outbox_events_pending_means_scheduled",
        "next_attempt_at",
        "NULL",
    ),
    (
        "outbox_events_processing_means_bound",
        "status, claim_token, lease_expires_at",
        "'PROCESSING', gen_random_uuid(), now()",
    ),
    (
        "outbox_events_processing_means_claimed",
        "status, handler, max_retries",
        "'PROCESSING', 'h', 5",
    ),
    (
        "outbox_events_processing_means_claimed",
        "status, handler, max_retries, claim_token",
        "'PROCESSING', 'h', 5, gen_random_uuid()",
    ),
    (
        "outbox_events_processing_means_claimed",
        "claim_token",
        "gen_random_uuid()",
    ),
    (
        "outbox_events_processing_means_claimed",
        "lease_expires_at",
        "now()",
    ),
    (
        "outbox_events_processing_means_claimed",
        "claimed_by",
        "'somebody'",
    ),
    ("outbox_events_processed_means_ended", "status", "'SENT'"),
    (
        "outbox_events_processed_means_ended",
        "processed_at",
        "now()",
    ),
    (
        "outbox_events_failed_at_means_failed",
        "status, processed_at",
        "'FAILED', now()",
    ),
    (
        "outbox_events_failed_at_means_failed",
        "status, processed_at, failed_at",
        "'SENT', now(), now()",
    ),
    (
        "outbox_events_times_are_representable",
        "occurred_at",
        "'infinity'",
    ),
    (
        "outbox_events_times_are_representable",
        "next_attempt_at",
        "'-infinity'",
    ),
    (
        "outbox_events_times_are_representable",
        "created_at",
        "'0044-03-15 12:00:00+00 BC'",
    ),
    ("outbox_handlers_handler_is_named", "handler", "''"),
    (
        "outbox_handlers_max_retries_is_positive",
        "max_retries",
        "0",
    ),
];

/// An INSERT of a good row, but for these columns.
fn insert(constraint: &str, columns: &str, values: &str) -> String {
    let (table, needed) = if constraint.starts_with("outbox_handlers") {
        (
            "outbox_handlers",
            [("handler", "'h'"), ("patterns", "'{}'")],
        )
    } else {
        (
            "outbox_events",
            [("event_type", "'a'"), ("payload", "'{}'")],
        )
    };
    let mut columns = columns.to_owned();
    let mut values = values.to_owned();
    for (column, value) in needed {
        if !columns.split(", ").any(|given| given == column) {
            columns = format!("{columns}, {column}");
            values = format!("{values}, {value}");
        }
    }
    format!("INSERT INTO {table} ({columns}) VALUES ({values})")
}

#[tokio::test]
async fn every_check_refuses_by_its_own_name() {
    let database = Database::new().await;
    for (constraint, columns, values) in REFUSED {
        let sql = insert(constraint, columns, values);
        let refused = query(AssertSqlSafe(sql.clone()))
            .execute(&database.pool())
            .await;
        let error = refused.expect_err(&sql).into_database_error();
        let error = error.unwrap_or_else(|| panic!("{sql}: not the server's error"));
        assert_eq!(error.constraint(), Some(*constraint), "{sql}: {error}");
    }
}

#[tokio::test]
async fn every_check_has_a_case() {
    let database = Database::new().await;
    let checks: Vec<String> = query_scalar(
        "SELECT conname::text FROM pg_constraint
         WHERE contype = 'c' AND conrelid IN ('outbox_events'::regclass, 'outbox_handlers'::regclass)",
    )
    .fetch_all(&database.pool())
    .await
    .unwrap();
    let covered: BTreeSet<_> = REFUSED
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    assert_eq!(BTreeSet::from_iter(checks), covered);
}
