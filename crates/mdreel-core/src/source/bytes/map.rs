//! A memory map of a file.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::atomic::Ordering;

use super::bus_error::{self, Guard};

/// A whole file, mapped read-only and guarded against SIGBUS; unmapped on drop.
#[derive(Debug)]
pub(super) struct FileMap {
    /// Before the map itself, so it ends first: addresses given back must not stay guarded.
    guard: Option<Guard>,
    start: NonNull<u8>,
    /// Complete pages: bytes behind the end of the file on its last page read as zeros.
    len: usize,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    page: usize,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    can_populate: std::sync::atomic::AtomicBool,
}

// SAFETY: the map is only read, and only unmapped when nothing borrows it.
unsafe impl Send for FileMap {}
// SAFETY: as above.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Maps the `len` bytes of `file`. `None` where the system refuses, or where a file that is cut could not be told.
    pub(super) fn new(file: &File, len: u64) -> Option<Self> {
        // Half of the addresses of a 32-bit process do not hold even one trajectory.
        if cfg!(not(target_pointer_width = "64")) || len == 0 {
            return None;
        }
        // SAFETY: asks for a constant.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|page| *page > 0)?;
        let len = usize::try_from(len).ok()?.checked_next_multiple_of(page)?;
        // SAFETY: a new map, at an address that the system chooses, of an open file.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = NonNull::new(start.cast::<u8>())?;
        // The value exists before the guard, so that dropping it unmaps.
        let mut map = FileMap {
            guard: None,
            start,
            len,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            page,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            can_populate: true.into(),
        };
        let address = start.as_ptr() as usize;
        map.guard = Some(Guard::new(address..address + len)?);
        map.expect_order();
        Some(map)
    }

    /// Has the system fetch pages that are not in memory 2 MiB at a time, and those behind them ahead, whatever its own
    /// settings are. They are kept as one large page where the file system can, which costs next to nothing to map.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn expect_order(&self) {
        // SAFETY: our own map; the advice changes no byte. A system without large pages refuses it.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, libc::MADV_HUGEPAGE) };
    }

    /// Other systems have no such call.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn expect_order(&self) {}

    /// Bytes mapped: the file's, rounded up to whole pages.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bytes mapped.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and readable as long as `self` lives: pages without a file behind them are replaced by zeros
        // (see `bus_error`). Another process may write to the file meanwhile; the slice is then as stale or as torn
        // as a buffer filled by `read` would be, which every decoder must bear anyhow.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Has the system put the pages of `bytes` into the page table in one call: touching them one by one costs a fault
    /// for every 16 of them. Where touching them would raise SIGBUS, the map is marked as broken at once.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn populate(&self, bytes: Range<usize>) {
        if !self.can_populate.load(Ordering::Relaxed) {
            return;
        }
        let (start, end) = (bytes.start / self.page * self.page, bytes.end.min(self.len));
        if start >= end {
            return;
        }
        // SAFETY: whole pages within our map; the advice changes no byte.
        let answer =
            unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, libc::MADV_POPULATE_READ) };
        if answer != 0 {
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EFAULT) => self.break_at(bytes.start),
                // Linux before 5.14. Nothing takes its place: pages come by faults.
                Some(libc::EINVAL) => self.can_populate.store(false, Ordering::Relaxed),
                // Whatever else is wrong shows when the pages are touched.
                _ => {}
            }
        }
    }

    /// Other systems cannot do this.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn populate(&self, _bytes: Range<usize>) {}

    /// Takes the pages of `bytes` out of the page table; they stay in memory, and come back when touched.
    fn release(&self, bytes: Range<usize>) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let start = bytes.start.next_multiple_of(self.page);
            let end = bytes.end.min(self.len) / self.page * self.page;
            if start < end {
                // SAFETY: whole pages within our map of a file: nothing that they hold is lost.
                unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, libc::MADV_DONTNEED) };
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = bytes;
    }

    /// The first byte that could not be read, once there was one. Nothing that the map holds may be trusted then,
    /// neither now nor later.
    pub(super) fn broken_at(&self) -> Option<u64> {
        let address = self.guard.as_ref()?.broken_at()?;
        Some((address - self.start.as_ptr() as usize) as u64)
    }

    /// Marks the map as invalid.
    pub(super) fn break_at(&self, byte: usize) {
        if let Some(guard) = &self.guard {
            guard.break_at(self.start.as_ptr() as usize + byte);
        }
    }

    /// Whether this thread may read the map.
    pub(super) fn is_safe_here(&self) -> bool {
        bus_error::is_handled()
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: our own map; no slice of it is left, as slices borrow `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The part of a map that one reader has put into the page table and is behind by now. Taking it out again is work
/// that the readers share this way, instead of one thread doing all of it when the map goes; and the pages that a
/// process holds stay few.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Range<usize>,
}

impl Held {
    /// Number of bytes released at a time; each release interrupts other processors.
    const STEP: usize = 16 << 20;
    /// Runs farther apart than this do not belong together.
    const NEAR: usize = 1 << 20;

    /// Notes that `bytes` are about to be used, and releases the pages behind.
    pub(super) fn hold(&mut self, map: &FileMap, bytes: &Range<usize>) {
        let follows = self.bytes.start <= bytes.start && bytes.start <= self.bytes.end + Self::NEAR;
        if !follows {
            self.release(map);
            self.bytes = bytes.clone();
        } else if bytes.start - self.bytes.start >= Self::STEP {
            map.release(self.bytes.start..bytes.start);
            self.bytes = bytes.clone();
        } else {
            self.bytes.end = self.bytes.end.max(bytes.end);
        }
    }

    /// Releases everything.
    pub(super) fn release(&mut self, map: &FileMap) {
        map.release(std::mem::take(&mut self.bytes));
    }
}
