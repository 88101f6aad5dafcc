//! Segments as their writer knows them, and how long they are kept.

use std::time::{Duration, Instant};

use super::mapped_file::MappedFile;
use super::segment::PREFIX;

/// The limits up to which frames are kept. Only complete segments are deleted. The newest segment always stays, and so do frames
/// that a group in the same directory has not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// At least this number of the newest frames stays.
    pub count: Option<u64>,
    /// The files of all segments have at most this number of bytes, as long as there is more than one.
    pub bytes: Option<u64>,
    /// Segments that were last written to longer ago are deleted.
    pub age: Option<Duration>,
    /// The number of bytes after which a segment is followed by the next one.
    pub segment: u64,
}

/// The state of a segment, as known to its writer.
#[derive(Debug)]
pub(super) struct Kept {
    /// Sequence number of its first frame.
    pub first: u64,
    pub n_frames: u64,
    pub n_bytes: u64,
    pub written: Written,
    /// Whether nothing may be appended: a write has failed, and may have left bytes after the last frame.
    pub is_closed: bool,
    /// Whether the disk has all its data.
    pub is_on_disk: bool,
    /// Its file in memory, if it is mapped.
    pub mapped: Option<MappedFile>,
    /// Number of slots of the ring that refer to a frame of it.
    pub n_slots: u64,
    /// Whether consumers may still read frames in it that were copied to the ring, so that its file must not be reused.
    pub is_read: bool,
}

impl Kept {
    /// Creates the state of a segment that begins now and has no frames.
    pub(super) fn begun(first: u64, mapped: Option<MappedFile>) -> Self {
        let (n_frames, n_bytes, n_slots, written) = (0, PREFIX, 0, Written::at(Instant::now()));
        Kept { first, n_frames, n_bytes, written, is_closed: false, is_on_disk: true, mapped, n_slots, is_read: false }
    }
}

/// The time when a segment was last written to. Later changes of the wall clock do not change the age of a segment: for segments
/// that existed when the staging was opened, the time of the file is read only once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// The age of the segment at the time `then`.
    pub age: Duration,
    /// The time at which the age was determined.
    pub then: Instant,
}

impl Written {
    pub(super) fn at(then: Instant) -> Self {
        Written { age: Duration::ZERO, then }
    }

    pub(super) fn age(&self, now: Instant) -> Duration {
        self.age.saturating_add(now.saturating_duration_since(self.then))
    }
}
