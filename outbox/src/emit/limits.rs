//! The bounds of what is emitted.

use std::time::Duration;

/// The payload limit of an emitter that sets none: 1 MiB.
pub(super) const DEFAULT_PAYLOAD_LIMIT: usize = 1024 * 1024;

/// The largest payload limit: 128 MiB. Text of this size fits a `jsonb` and a protocol message.
pub(super) const MAX_PAYLOAD_LIMIT: usize = 128 * 1024 * 1024;

/// The most that headers take as JSON text, in bytes.
pub(super) const MAX_HEADERS: usize = 64 * 1024;

/// The longest delay: a hundred years.
pub(super) const MAX_DELAY: Duration = Duration::from_hours(36_525 * 24);
