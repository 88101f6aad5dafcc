//! Reading ahead: asks storage for bytes before they are needed, at next to no cost when they are in memory already.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Storage is asked for at least so much at a time.
const STEP: u64 = 1 << 20;

/// How far ahead of a reader storage is asked, at most.
const FARTHEST: u64 = 8 << 20;

/// The system takes a larger wish than this only in part.
const WISH: u64 = 1 << 20;

/// A single run up to this long needs no wish: reading it makes the system fetch it in one piece anyhow.
const SHORT: u64 = 64 << 10;

/// One worker's view of how it moves through a file.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    /// Where the last load began and ended.
    last: Range<u64>,
    /// Everything from the last load up to here was asked for, or found in memory.
    known: u64,
    /// How far ahead to ask: grows while loads follow one another, so that a single look costs nothing more.
    distance: u64,
}

impl ReadAhead {
    /// Before the bytes of `runs` (ascending) are read: asks for those that are not in memory, and for what follows
    /// them where the last loads followed one another.
    ///
    /// Whether bytes are in memory is told from the last one alone. That is one system call per [`STEP`] of sequential
    /// reading and at most one per load otherwise; it may err where a file is partly in memory, which costs time only.
    pub(super) fn before(&mut self, file: &File, len: u64, runs: &[Range<u64>], near: u64) {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return };
        let (start, end) = (first.start, last.end);
        let wanted: u64 = runs.iter().map(|run| run.end - run.start).sum();
        let follows = self.last.start <= start && start <= self.last.end.saturating_add(near);
        // Where most is skipped, asking for everything would read what nobody wants.
        let dense = 2 * wanted >= end.saturating_sub(start);
        self.last = start..end;
        if follows && dense {
            self.distance = (2 * self.distance).clamp(STEP, FARTHEST);
            let target = end.saturating_add(self.distance).min(len);
            let from = self.known.max(start);
            if target >= from + STEP || from < end {
                if !in_memory(file, target.max(end) - 1) {
                    ask(file, from..target.max(end));
                }
                self.known = target.max(end);
            }
        } else {
            self.distance = 0;
            self.known = end;
            let alone = runs.len() == 1 && wanted <= SHORT;
            if end > start && !alone && !in_memory(file, end - 1) {
                runs.iter().for_each(|run| ask(file, run.clone()));
            }
        }
    }
}

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
