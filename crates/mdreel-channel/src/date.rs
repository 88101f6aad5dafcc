//! The wall clock, for times that are shown to people. No code waits by it, as it may be set at any time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in ms since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
