//! The monotonic clock that the processes of a machine share. Setting the wall clock does not change it.

/// Returns the current time in ns; never 0.
pub(crate) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()).max(1)
}

/// The age, in ns, after which a producer's last sign of waiting no longer counts. A waiting producer renews the sign at least
/// every 100 ms; one that has not for this long has given its frame up, or is stopped.
const WAITING: u64 = 1_000_000_000;

/// Returns whether a producer that last showed at `waited_at` that it waits is still waiting at `now`.
pub(crate) fn is_waiting(waited_at: u64, now: u64) -> bool {
    waited_at > 0 && now.saturating_sub(waited_at) < WAITING
}
