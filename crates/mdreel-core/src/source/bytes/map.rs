//! Memory maps of files.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::sync::atomic::Ordering;

use super::bus_error::{self, Guard};

/// A whole file, mapped read-only and guarded against SIGBUS. Dropping it unmaps the file.
#[derive(Debug)]
pub(super) struct FileMap {
    /// The guard. It is dropped before the file is unmapped, because freed addresses must not stay guarded.
    guard: Option<Guard>,
    start: NonNull<u8>,
    /// Length in bytes of all mapped pages. On the last page, bytes after the end of the file read as zeros.
    len: usize,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    page: usize,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    can_populate: std::sync::atomic::AtomicBool,
}

// SAFETY: the map is read-only, and it is unmapped only when nothing borrows it.
unsafe impl Send for FileMap {}
// SAFETY: the same argument applies.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Maps the `len` bytes of `file`. Returns `None` if the operating system refuses, or if a truncation of the file
    /// could not be detected.
    pub(super) fn new(file: &File, len: u64) -> Option<Self> {
        // Half of the address space of a 32-bit process is too small for even one trajectory.
        if cfg!(not(target_pointer_width = "64")) || len == 0 {
            return None;
        }
        // SAFETY: the call returns a constant.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|page| *page > 0)?;
        let len = usize::try_from(len).ok()?.checked_next_multiple_of(page)?;
        // SAFETY: this creates a new map of an open file, at an address that the operating system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = NonNull::new(start.cast::<u8>())?;
        // The value is created before the guard, so that dropping it unmaps the file.
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

    /// Asks the operating system to fetch missing pages in units of 2 MiB, and to read ahead, regardless of its own
    /// settings. If the file system supports it, each unit is kept as one large page, which costs next to nothing to
    /// map.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn expect_order(&self) {
        // SAFETY: this is our own map, and the advice changes no byte. A system without large pages refuses the call.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, libc::MADV_HUGEPAGE) };
    }

    /// Does nothing: other systems have no such call.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn expect_order(&self) {}

    /// Returns the number of mapped bytes: the size of the file, rounded up to whole pages.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the mapped bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are mapped and readable as long as `self` lives. Pages without a file behind them are
        // replaced by zeros (see `bus_error`). Another process may write to the file meanwhile. The slice is then as
        // stale or torn as a buffer filled by `read` would be, and every decoder must cope with that anyway.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Asks the operating system to enter the pages of `bytes` into the page table in one call. Touching them one by
    /// one costs a page fault for every 16 pages. If touching them would raise SIGBUS, this marks the map as broken.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn populate(&self, bytes: Range<usize>) {
        if !self.can_populate.load(Ordering::Relaxed) {
            return;
        }
        let (start, end) = (bytes.start / self.page * self.page, bytes.end.min(self.len));
        if start >= end {
            return;
        }
        // SAFETY: these are whole pages of our map, and the advice changes no byte.
        let answer =
            unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, libc::MADV_POPULATE_READ) };
        if answer != 0 {
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EFAULT) => self.break_at(bytes.start),
                // Linux before 5.14 lacks this call. The pages are then mapped by page faults.
                Some(libc::EINVAL) => self.can_populate.store(false, Ordering::Relaxed),
                // Any other problem shows when the pages are touched.
                _ => {}
            }
        }
    }

    /// Does nothing: other systems have no such call.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn populate(&self, _bytes: Range<usize>) {}

    /// Removes the pages of `bytes` from the page table. They stay in memory and are mapped again when touched.
    fn release(&self, bytes: Range<usize>) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let start = bytes.start.next_multiple_of(self.page);
            let end = bytes.end.min(self.len) / self.page * self.page;
            if start < end {
                // SAFETY: these are whole pages of our map of a file, so no content is lost.
                unsafe { libc::madvise(self.start.as_ptr().add(start).cast(), end - start, libc::MADV_DONTNEED) };
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = bytes;
    }

    /// Returns the first byte that could not be read, if any. From then on, no content of the map may be trusted.
    pub(super) fn broken_at(&self) -> Option<u64> {
        let address = self.guard.as_ref()?.broken_at()?;
        Some((address - self.start.as_ptr() as usize) as u64)
    }

    /// Marks the map as invalid from `byte` on.
    pub(super) fn break_at(&self, byte: usize) {
        if let Some(guard) = &self.guard {
            guard.break_at(self.start.as_ptr() as usize + byte);
        }
    }

    /// Returns whether this thread may read the map.
    pub(super) fn is_safe_here(&self) -> bool {
        bus_error::is_handled()
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: this is our own map, and no slice of it is left, because slices borrow `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The part of a map that one reader has entered into the page table. The reader removes the pages that it has passed.
/// In this way, the readers share work that one thread would otherwise do when it unmaps the file. It also limits the
/// number of pages that the process holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Range<usize>,
}

impl Held {
    /// Number of bytes released at a time. Each release interrupts other processors.
    const STEP: usize = 16 << 20;
    /// Largest gap in bytes between runs that belong together.
    const NEAR: usize = 1 << 20;

    /// Records that `bytes` are about to be used, and releases the pages before them.
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

    /// Releases all pages.
    pub(super) fn release(&mut self, map: &FileMap) {
        map.release(std::mem::take(&mut self.bytes));
    }
}
