//! Memory that processes share by mapping a file.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

use super::protocol::{Cursor, Room, Stamp};
use mdreel_core::error::{Error, Result};

/// Returns the size of a page, the unit in which the kernel maps files.
fn page_size() -> usize {
    // SAFETY: the call reads a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16)
}

/// Types as which a range of shared memory may be viewed.
///
/// # Safety
///
/// The type consists of atomic integers and is `repr(C)`. Any bytes are then a valid value, and writes by other processes are no
/// data race.
pub(super) unsafe trait Shared {}

// SAFETY: the type consists of atomic integers only.
unsafe impl Shared for Cursor {}
// SAFETY: the type consists of atomic integers only.
unsafe impl Shared for Room {}
// SAFETY: the type consists of atomic integers only.
unsafe impl Shared for Stamp {}

/// A file that is mapped into memory as long as this value lives.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
    is_writable: bool,
}

// SAFETY: the memory belongs to no thread, and all references to it obey the borrow of the mapping.
unsafe impl Send for Mapping {}
// SAFETY: as above. Only atomic integers are written through a shared borrow.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `length` bytes of a file. Returns an error if the file is shorter, because an access beyond its end would
    /// raise a signal.
    pub(super) fn new(path: &Path, file: &File, length: usize, is_writable: bool) -> Result<Self> {
        let there = file.metadata().map_err(|error| Error::io(path, error))?.len();
        if length == 0 || there < length as u64 {
            return Err(Error::format(path, None, Some(there), format!("expected {length} bytes, got {there}")));
        }
        let protection = if is_writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let (flags, descriptor) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: the kernel chooses an address that is not in use, and the descriptor is open.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, descriptor, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Mapping { start, length, is_writable }),
            _ => Err(Error::io(path, std::io::Error::last_os_error())),
        }
    }

    /// Asks the kernel to map all pages now. Otherwise, each page causes a fault when it is first accessed, while a frame is being
    /// written or read. Linux before 5.14 refuses the request, which only costs time later.
    pub(super) fn populate(&self) {
        let advice = if self.is_writable { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
        // SAFETY: the range is the whole mapping. The kernel touches its pages without changing a byte.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, advice) };
    }

    /// Returns whether all pages of a range are in memory, so that writing to them reads nothing from the disk.
    pub(super) fn is_resident(&self, range: Range<usize>) -> bool {
        let (start, length) = self.pages(range);
        let mut states = vec![0u8; length.div_ceil(page_size())];
        // SAFETY: the range lies in the mapping, and there is one byte for each of its pages.
        let outcome = unsafe { libc::mincore(start.cast(), length, states.as_mut_ptr().cast()) };
        outcome == 0 && states.iter().all(|state| state & 1 == 1)
    }

    /// Asks the kernel to make all pages of a range writable now, and returns whether it did. If it cannot, because the disk is
    /// full, the file was truncated or Linux is older than 5.14, a write could end the process with a signal.
    pub(super) fn make_writable(&self, range: Range<usize>) -> bool {
        let (start, length) = self.pages(range);
        // SAFETY: the range lies in the mapping. The call changes no byte.
        self.is_writable && unsafe { libc::madvise(start.cast(), length, libc::MADV_POPULATE_WRITE) } == 0
    }

    /// Returns the start and the length of the pages that contain a range.
    fn pages(&self, range: Range<usize>) -> (*mut u8, usize) {
        assert!(range.start <= range.end && range.end <= self.length);
        let first = range.start / page_size() * page_size();
        // SAFETY: the offset lies in the mapping.
        (unsafe { self.start.as_ptr().add(first) }, range.end - first)
    }

    /// Returns the number of mapped bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns `n` values, the first of which begins at the byte `at`.
    pub(super) fn values<T: Shared>(&self, at: usize, n: usize) -> &[T] {
        let end = n.checked_mul(size_of::<T>()).and_then(|length| at.checked_add(length));
        assert!(end.is_some_and(|end| end <= self.length) && at.is_multiple_of(align_of::<T>()));
        // SAFETY: the assertion shows that the values lie in the mapping and are aligned, because the mapping begins at a page. Any
        // bytes are valid values of the type, and other processes may write to them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at).cast(), n) }
    }

    /// Returns the bytes in a range.
    ///
    /// # Safety
    ///
    /// No party writes to these bytes while they are borrowed. The protocol has to ensure this.
    pub(super) unsafe fn bytes(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: the range lies in the mapping. The caller promises that no party writes to it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(range.start), range.len()) }
    }

    /// Returns the bytes in a range for writing.
    ///
    /// # Safety
    ///
    /// No other party reads or writes these bytes while they are borrowed. The protocol has to ensure this.
    pub(super) unsafe fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(self.is_writable && range.start <= range.end && range.end <= self.length);
        // SAFETY: the range lies in the mapping, which is writable. The caller promises that no other party accesses the bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by `new`, and all borrows of it have ended.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 1 << 20;

    /// Returns how many bytes of the file at `path` are in pages that this process has mapped.
    fn mapped(path: &Path) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (_, of_file) = maps.split_once(path.to_str().unwrap()).unwrap();
        let line = of_file.lines().find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    /// Returns whether the kernel supports the requests, as Linux does since version 5.14.
    fn can_be_asked() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split(['.', '-']).map_while(|number| number.trim().parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(5), Some(14))
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn pages_are_mapped_before_they_are_touched() {
        let place = tempfile::tempdir().unwrap();
        for is_writable in [true, false] {
            let path = place.path().join(format!("file-{is_writable}"));
            let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
            file.set_len(LENGTH as u64).unwrap();
            let mapping = Mapping::new(&path, &file, LENGTH, is_writable).unwrap();
            assert_eq!(mapped(&path), 0);
            mapping.populate();
            assert_eq!(mapped(&path), if can_be_asked() { LENGTH } else { 0 });
        }
    }
}
