//! What the tests stand on: a throwaway PostgreSQL, a database per test, waiting for a condition,
//! and processes that can be killed.
//!
//! ```no_run
//! use outbox_tests::{Database, eventually};
//!
//! # async fn test() {
//! let database = Database::new().await; // migrated, of this test alone
//! let pool = database.pool();
//! // … emit, start …
//! let rows = eventually("the event is delivered", async || {
//!     let rows = database.rows().await;
//!     rows.iter().all(|row| row.processed_at.is_some()).then_some(rows)
//! })
//! .await;
//! assert_eq!(rows.len(), 1);
//! # }
//! ```

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a harness reports to its test by panicking"
)]

mod account;
mod database;
#[cfg(feature = "embedded")]
mod embedded;
mod eventually;
mod line;
mod log;
mod logged;
mod programs;
mod records;
mod role;
mod rows;
mod server;
mod supervisor;
mod worker;

pub use crate::database::Database;
pub use crate::eventually::{Seen, eventually, eventually_within};
pub use crate::line::Line;
pub use crate::log::LogMark;
pub use crate::logged::Logged;
pub use crate::role::play_role;
pub use crate::rows::rows;
pub use crate::server::Server;
pub use crate::worker::Worker;
