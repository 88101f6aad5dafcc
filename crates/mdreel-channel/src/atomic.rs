//! The atomic integers and the alarm on which the protocol is built.
//!
//! The protocol (`protocol`) shares no other state with other threads or processes. The model check (`tests/channel_model.rs`)
//! can therefore replace these types with its own and check the code that runs.

use std::time::Duration;

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::futex;

/// The number of frames that one consumer can hold at a time. Together with the word of the cursor, they fill a cache line. The
/// model check uses fewer.
pub(crate) const N_PINS: usize = 7;

/// An alarm that wakes sleeping processes: a counter that each ringing increments, and on which processes sleep through the
/// kernel.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Alarm {
    count: AtomicU32,
}

impl Alarm {
    /// Returns how often the alarm has rung. The caller must read this before it checks the condition that it waits for.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Wakes all sleepers. It makes a system call only if `somebody_sleeps` returns true, and calls that after a full fence.
    pub(crate) fn ring(&self, somebody_sleeps: impl FnOnce() -> bool) {
        self.count.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if somebody_sleeps() {
            futex::wake(&self.count);
        }
    }

    /// Sleeps until the alarm rings or `at_most` has passed. Returns at once if the alarm has rung since its count was `count`.
    pub(crate) fn sleep(&self, count: u32, at_most: Duration) {
        futex::wait(&self.count, count, at_most);
    }
}
