//! Claiming, settling, recovering, releasing: what each does to the row, and what it leaves alone.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

mod fence;
mod fence_admin;
mod fence_bind;
mod fence_claim;
mod fence_heartbeat;
mod fence_judge;
mod fence_recover;
mod fence_release;
mod fence_settle;
