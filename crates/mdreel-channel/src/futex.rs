//! Sleeping and waking on a number in memory that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Wakes all threads of all processes that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the address is that of a number that lives for the call. The kernel wakes sleepers and does not touch our memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Sleeps while `word` is `expected`, for at most `at_most`; may return early. The memory may be mapped for reading only.
pub(crate) fn wait(word: &AtomicU32, expected: u32, at_most: Duration) {
    let time = libc::timespec {
        tv_sec: at_most.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: at_most.subsec_nanos() as libc::c_long,
    };
    // SAFETY: both addresses are those of values that live for the call, which only reads them. Whatever the call returns (woken,
    // changed, interrupted, timed out), the caller checks its condition again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &raw const time) };
}
