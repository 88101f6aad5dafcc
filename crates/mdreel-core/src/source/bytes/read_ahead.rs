//! Reading ahead: asks storage for scattered bytes, all at once, before the first of them is waited for.

use std::fs::File;
use std::ops::Range;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple"))]
use std::os::fd::AsRawFd;

/// The system takes a larger wish than this only in part.
const WISH: u64 = 1 << 20;

/// One worker's view of how it moves through a file.
///
/// Reading that goes straight on is left to the system, which reads ahead in large pieces ([`FileMap`], [`FileBytes`])
/// and keeps them in large pages. Pages that were asked for are small, and every later map of them costs more
/// (`docs/design/002-reading-bytes.md`): only ranges that the system cannot predict are requested.
///
/// [`FileMap`]: super::map::FileMap
/// [`FileBytes`]: super::FileBytes
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// Where the last load began and ended.
    last: Range<u64>,
    /// Whether loads go straight on, with a leap to the next block now and then.
    goes_on: bool,
}

impl Default for ReadAhead {
    fn default() -> Self {
        ReadAhead { last: 0..0, goes_on: true }
    }
}

impl ReadAhead {
    /// Before the bytes of `runs` (ascending) are read: asks for them if they lie scattered and are not in memory.
    ///
    /// Whether bytes are in memory is told from the last one alone, by one system call. It may err where a file is
    /// partly in memory, which costs time only.
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

/// Tells the system that the bytes of `file` will mostly be read in order: Linux then reads twice as far ahead.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(super) fn expect_order(file: &File) {
    // SAFETY: an open descriptor; the advice changes no byte.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL) };
}

/// Other systems find out by themselves.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(super) fn expect_order(_file: &File) {}

/// Asks the system to fetch `bytes`, without waiting for them.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn ask(file: &File, bytes: Range<u64>) {
    let mut at = bytes.start;
    while at < bytes.end {
        let length = WISH.min(bytes.end - at);
        // SAFETY: an open descriptor; the advice changes no byte.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), at as _, length as _, libc::POSIX_FADV_WILLNEED) };
        at += length;
    }
}

/// Asks the system to fetch `bytes`, without waiting for them.
#[cfg(target_vendor = "apple")]
fn ask(file: &File, bytes: Range<u64>) {
    let mut at = bytes.start;
    while at < bytes.end {
        let length = WISH.min(bytes.end - at);
        let wish = libc::radvisory { ra_offset: at as _, ra_count: length as _ };
        // SAFETY: an open descriptor and a valid structure; the advice changes no byte.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_RDADVISE, &wish) };
        at += length;
    }
}

/// Other systems read ahead on their own.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple")))]
fn ask(_file: &File, _bytes: Range<u64>) {
    let _ = WISH;
}

/// Whether the byte at `offset` can be had without waiting (or could not be had at all).
///
/// By `preadv2` with RWF_NOWAIT (Linux 4.14), as mincore(2) says "yes" to all who may not write to the file. Called by
/// number, since C libraries of the age that Python wheels are built for have no name for it.
#[cfg(all(any(target_os = "linux", target_os = "android"), target_pointer_width = "64"))]
fn in_memory(file: &File, offset: u64) -> bool {
    let mut byte = 0u8;
    let place = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: an open descriptor and one writable byte; the offset's upper half is unused on 64-bit systems.
    let answer =
        unsafe { libc::syscall(libc::SYS_preadv2, file.as_raw_fd(), &raw const place, 1, offset, 0, libc::RWF_NOWAIT) };
    answer >= 0
}

/// Where the system cannot tell, it is asked every time: bytes in memory are not fetched again.
#[cfg(not(all(any(target_os = "linux", target_os = "android"), target_pointer_width = "64")))]
fn in_memory(_file: &File, _offset: u64) -> bool {
    false
}
