//! The atomic integers and the alarm of the model check. They replace those in `src/atomic.rs`.

pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The number of pins of a consumer. A consumer of the model holds one frame while it takes the next.
pub(crate) const N_PINS: usize = 2;

/// An alarm of the model. No thread wakes unless the alarm wakes it, so a lost wake-up shows as a deadlock.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    count: AtomicU32,
    lock: loom::sync::Mutex<()>,
    rung: loom::sync::Condvar,
}

impl Alarm {
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    pub(crate) fn ring(&self, somebody_sleeps: impl FnOnce() -> bool) {
        self.count.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if somebody_sleeps() {
            // The kernel compares the count and puts a thread to sleep under its own lock; so does the model.
            drop(self.lock.lock().unwrap());
            self.rung.notify_all();
        }
    }

    pub(crate) fn sleep(&self, count: u32, _at_most: std::time::Duration) {
        let guard = self.lock.lock().unwrap();
        if self.count.load(Ordering::Acquire) == count {
            drop(self.rung.wait(guard).unwrap());
        }
    }
}
