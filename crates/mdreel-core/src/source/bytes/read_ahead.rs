//! Read-ahead. It requests all scattered bytes from storage before the reader waits for the first of them.

use std::fs::File;
use std::ops::Range;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple"))]
use std::os::fd::AsRawFd;

/// Maximum size of a request in bytes. The operating system serves a larger one only in part.
const WISH: u64 = 1 << 20;

/// The access pattern of one worker in a file.
///
/// Sequential reads are left to the operating system, which reads ahead in large pieces ([`FileMap`], [`FileBytes`])
/// and keeps them in large pages. Requested pages are small, and every later map of them costs more
/// (`docs/design/002-reading-bytes.md`). So only ranges that the operating system cannot predict are requested.
///
/// [`FileMap`]: super::map::FileMap
/// [`FileBytes`]: super::FileBytes
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// The range from the beginning to the end of the last load.
    last: Range<u64>,
    /// Whether loads are sequential, apart from an occasional jump to the next block.
    goes_on: bool,
}

impl Default for ReadAhead {
    fn default() -> Self {
        ReadAhead { last: 0..0, goes_on: true }
    }
}

impl ReadAhead {
    /// Requests the bytes of `runs` (ascending) before they are read, if they are scattered and not in memory.
    ///
    /// One system call on the last byte decides whether the bytes are in memory. The answer may be wrong if only a part
    /// of the file is in memory, which costs nothing but time.
    pub(super) fn before(&mut self, file: &File, runs: &[Range<u64>], near: u64) {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return };
        let (start, end) = (first.start, last.end);
        let wanted: u64 = runs.iter().map(|run| run.end - run.start).sum();
        let is_dense = 2 * wanted >= end.saturating_sub(start);
        let follows = self.last.start <= start && start <= self.last.end.saturating_add(near);
        self.last = start..end;
        let went_on = std::mem::replace(&mut self.goes_on, is_dense && follows);
        if !(is_dense && (follows || went_on)) && end > start && !in_memory(file, end - 1) {
            runs.iter().for_each(|run| ask(file, run.clone()));
        }
    }
}

/// Tells the operating system that most reads of `file` will be sequential. Linux then doubles its read-ahead.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(super) fn expect_order(file: &File) {
    // SAFETY: the descriptor is open, and the advice changes no byte.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL) };
}

/// Does nothing: other systems detect sequential reads themselves.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(super) fn expect_order(_file: &File) {}

/// Asks the operating system to fetch `bytes`, without waiting for them.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn ask(file: &File, bytes: Range<u64>) {
    let mut at = bytes.start;
    while at < bytes.end {
        let length = WISH.min(bytes.end - at);
        // SAFETY: the descriptor is open, and the advice changes no byte.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), at as _, length as _, libc::POSIX_FADV_WILLNEED) };
        at += length;
    }
}

/// Asks the operating system to fetch `bytes`, without waiting for them.
#[cfg(target_vendor = "apple")]
fn ask(file: &File, bytes: Range<u64>) {
    let mut at = bytes.start;
    while at < bytes.end {
        let length = WISH.min(bytes.end - at);
        let wish = libc::radvisory { ra_offset: at as _, ra_count: length as _ };
        // SAFETY: the descriptor is open and the structure valid; the advice changes no byte.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_RDADVISE, &wish) };
        at += length;
    }
}

/// Does nothing: other systems read ahead on their own.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple")))]
fn ask(_file: &File, _bytes: Range<u64>) {
    let _ = WISH;
}

/// Returns whether the byte at `offset` can be read without waiting, or cannot be read at all.
///
/// This uses `preadv2` with RWF_NOWAIT (Linux 4.14), because mincore(2) answers "yes" to every process that may not
/// write to the file. The system call is made by number: the old C libraries for which Python wheels are built have no
/// wrapper for it.
#[cfg(all(any(target_os = "linux", target_os = "android"), target_pointer_width = "64"))]
fn in_memory(file: &File, offset: u64) -> bool {
    let mut byte = 0u8;
    let place = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the descriptor is open and one byte is writable. On 64-bit systems, the upper half of the offset is
    // unused.
    let answer =
        unsafe { libc::syscall(libc::SYS_preadv2, file.as_raw_fd(), &raw const place, 1, offset, 0, libc::RWF_NOWAIT) };
    answer >= 0
}

/// Returns `false`, since these systems cannot tell. Bytes in memory are requested, but the system does not fetch them
/// again.
#[cfg(not(all(any(target_os = "linux", target_os = "android"), target_pointer_width = "64")))]
fn in_memory(_file: &File, _offset: u64) -> bool {
    false
}
