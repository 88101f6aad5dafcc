//! Files of segments in the memory of the producer.

use crate::mapping::Mapping;

/// Highest number of bytes that the producer maps. The pages of more would hardly stay in memory until they are reused.
pub(super) const MOST_MAPPED: u64 = 1 << 30;

/// The file of a segment in memory.
#[derive(Debug)]
pub(super) struct MappedFile {
    pub inode: u64,
    pub memory: Mapping,
}

impl MappedFile {
    /// Returns the bytes of a frame. Returns `None` if a write to these bytes could fail or read from the disk.
    ///
    /// # Safety
    ///
    /// No slot of the ring refers to a frame in these bytes.
    pub(super) unsafe fn frame_mut(&mut self, offset: u64, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(offset).ok()?;
        let range = start..start.checked_add(length).filter(|end| *end <= self.memory.len())?;
        if !self.memory.is_resident(range.clone()) || !self.memory.make_writable(range.clone()) {
            return None;
        }
        // SAFETY: the caller promises that no other party reads or writes these bytes in memory.
        Some(unsafe { self.memory.bytes_mut(range) })
    }
}
