//! What happens after a failed attempt: how often it is tried again, and when.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod c3_limits;
mod c5_no_delay;
mod c6_kill_between_attempts;
mod d1_skewed_clocks;
mod d5_fractions;
mod delays;
mod end_states;
mod limits_are_fixed_at_emit;
mod real_time;
mod retrying;
mod stored_schedule;
