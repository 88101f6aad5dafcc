//! The clock that the processes of a machine share: it only goes on, whatever the wall clock is set to.

/// Now, in ns; never 0.
pub(crate) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()).max(1)
}

/// A producer that waits says so at least every 100 ms. One that has not for so long, in ns, has given its frame up, or is stopped.
const WAITING: u64 = 1_000_000_000;

/// Whether a producer waits that has last said so at one moment, as is seen at another.
pub(crate) fn is_waiting(waited_at: u64, now: u64) -> bool {
    waited_at > 0 && now.saturating_sub(waited_at) < WAITING
}
