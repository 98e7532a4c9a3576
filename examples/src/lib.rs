//! What the examples share and nobody needs to read: a database, and rows as a table.

use std::fmt::Display;

use anyhow::Context;
use outbox::sqlx::{self, PgPool};
use outbox::{EventId, OutboxRecord};
use outbox_tests::Server;

/// A database to run an example in, for as long as this value lives.
#[derive(Debug)]
pub struct Database {
    url: String,
    _server: Option<Server>,
}

impl Database {
    /// The one that `DATABASE_URL` names, else one on a PostgreSQL that ends with the value.
    ///
    /// # Errors
    ///
    /// When `DATABASE_URL` is not set and no PostgreSQL is installed.
    pub fn open() -> anyhow::Result<Self> {
        if let Ok(url) = std::env::var("DATABASE_URL") {
            return Ok(Self { url, _server: None });
        }
        let server = Server::launch().context("DATABASE_URL is not set")?;
        Ok(Self {
            url: server.url("postgres"),
            _server: Some(server),
        })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The rows of some events, one per event and handler, in the order of their emission.
///
/// # Errors
///
/// When the database can't be read.
pub async fn rows_of(pool: &PgPool, events: &[EventId]) -> sqlx::Result<Vec<OutboxRecord>> {
    let mut rows = outbox_tests::rows(pool).await?;
    rows.retain(|row| events.contains(&row.event_id));
    Ok(rows)
}

/// Rows of `outbox_events` as lines of text: the columns that tell a record's story.
#[must_use]
pub fn table(rows: &[OutboxRecord]) -> String {
    let header = [
        "event_type",
        "payload",
        "handler",
        "status",
        "retry_count",
        "max_retries",
        "processed after",
        "last_error",
    ];
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        let processed = row.processed_at.map(|at| at - row.created_at);
        [
            row.event_type.clone(),
            row.payload.to_string(),
            or_dash(row.handler.as_ref()),
            row.status.to_string(),
            row.retry_count.to_string(),
            or_dash(row.max_retries),
            or_dash(processed.map(|after| format!("{} ms", after.num_milliseconds()))),
            or_dash(row.last_error.as_ref()),
        ]
    }));
    let widths = std::array::from_fn::<usize, 8, _>(|column| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let rule = widths.map(|width| "─".repeat(width));
    lines.insert(1, rule);
    lines
        .iter()
        .map(|line| {
            let cells: Vec<String> = line
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            cells.join("  ").trim_end().to_owned() + "\n"
        })
        .collect()
}

fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}
