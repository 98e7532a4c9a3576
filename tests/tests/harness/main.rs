//! The harness itself.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod databases;
mod servers;
