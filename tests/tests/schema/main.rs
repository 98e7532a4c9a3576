//! The tables as the migrations leave them: what they refuse, what they promise to plain SQL.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod checks_refuse;
mod d3_times_have_zones;
mod indexes_leave_claims_hot;
mod plain_sql;
mod statements_prepare;
mod unreadable_rows;
