//! The atomic numbers and the alarm of which the protocol is made.
//!
//! The protocol (`protocol`) uses nothing else that other threads or processes can see, so that the model check
//! (`tests/channel_model.rs`) can put its own in their place, and checks the code that runs.

use std::time::Duration;

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::futex;

/// How many frames one consumer can hold at a time: with the word of its cursor, they fill a cache line. The model check has fewer.
pub(crate) const N_PINS: usize = 7;

/// Wakes processes that sleep: a number that each ringing raises, and on which the kernel lets them sleep.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Alarm {
    count: AtomicU32,
}

impl Alarm {
    /// How often it has rung. To be read before the look at what is waited for.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Wakes who sleeps, with a system call only if `somebody_sleeps`, which is asked behind a full fence.
    pub(crate) fn ring(&self, somebody_sleeps: impl FnOnce() -> bool) {
        self.count.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if somebody_sleeps() {
            futex::wake(&self.count);
        }
    }

    /// Sleeps until it rings, unless it has rung since its count was `count`; or until the time is over.
    pub(crate) fn sleep(&self, count: u32, at_most: Duration) {
        futex::wait(&self.count, count, at_most);
    }
}
