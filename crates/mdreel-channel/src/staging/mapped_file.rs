//! Files of segments in the memory of the producer.

use std::time::Duration;

use crate::mapping::Mapping;

/// Highest number of bytes that the producer maps. The pages of more would hardly stay in memory until they are reused.
pub(super) const MOST_MAPPED: u64 = 1 << 30;

/// Age at which the kernel may have begun to write the pages of a file to the disk. It makes them read-only for that, and a write in
/// place would have to make each of them writable again. By default, Linux looks for such pages every 5 s.
const CLEAN: Duration = Duration::from_secs(4);
/// Lowest number of bytes in a file that has mostly large pages. To make these writable again costs little.
const LARGE: usize = 8 << 20;

/// The file of a segment in memory.
#[derive(Debug)]
pub(super) struct MappedFile {
    pub inode: u64,
    pub memory: Mapping,
    /// Whether a write in place would be slower than a system call that writes to the file.
    pub is_clean: bool,
}

impl MappedFile {
    pub(super) fn new(inode: u64, memory: Mapping) -> Self {
        MappedFile { inode, memory, is_clean: false }
    }

    /// Notes the time since the last write to the file, which is about to be reused.
    pub(super) fn note_age(&mut self, age: Duration) {
        self.is_clean = age > CLEAN && self.memory.len() < LARGE;
    }

    /// Returns the bytes of a frame. Returns `None` if a write to these bytes could fail, read from the disk or be slow.
    ///
    /// # Safety
    ///
    /// No slot of the ring refers to a frame in these bytes.
    pub(super) unsafe fn frame_mut(&mut self, offset: u64, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(offset).ok()?;
        let range = start..start.checked_add(length).filter(|end| *end <= self.memory.len())?;
        if self.is_clean || !self.memory.is_resident(range.clone()) || !self.memory.make_writable(range.clone()) {
            return None;
        }
        // SAFETY: the caller promises that no other party reads or writes these bytes in memory.
        Some(unsafe { self.memory.bytes_mut(range) })
    }
}
