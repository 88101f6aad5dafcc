//! The files of a ring: their layout, their creation, and the checks before they are used.

use std::fs::OpenOptions;
use std::ops::Range;

use super::atomic::{AtomicU64, Ordering};
use super::directory::Directory;
use super::manifest::grouped;
use super::mapping::{Mapping, Shared};
use super::protocol::{Control, Cursor, Ring, Room, Stamp};
use mdreel_core::error::{Error, Result};

/// `MDREELRG` in bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"MDREELRG");
const VERSION: u64 = 4;
const PAGE: usize = 4096;
/// The length of the [`SlotHead`] before the frame in a slot.
const PREFIX: usize = size_of::<SlotHead>();
/// The highest number of slots. A file with more slots is not a ring.
const MOST_SLOTS: u64 = 1 << 20;
/// The highest number of bytes in all slots. A file with more bytes is not a ring.
const MOST_BYTES: u64 = 1 << 44;
/// The highest number of consumers at a time.
pub const N_CURSORS: usize = 1024;
/// The highest number of epochs, and so the number of times that a channel may be opened.
pub(crate) const MOST_EPOCHS: usize = 64;
const REASON_WORDS: usize = 32;
/// The number of bytes of the longest reason in an end record.
pub(crate) const MOST_REASON: usize = REASON_WORDS * 8;

/// The first page of the ring's file.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct RingHead {
    magic: AtomicU64,
    version: AtomicU64,
    n_slots: AtomicU64,
    slot_len: AtomicU64,
    /// The number of the stream.
    pub stream: AtomicU64,
    /// The number of the next frame of the stream.
    pub sequence: AtomicU64,
    /// The current epoch. It is written after its entry in `resume_steps`.
    pub epoch: AtomicU64,
    /// The number of entries in `resume_steps`.
    pub n_epochs: AtomicU64,
    /// 0 while frames may come, and otherwise the number of the way in which the channel ended. It is written after the reason.
    pub end: AtomicU64,
    /// The state that the producer writes for the protocol.
    pub control: Control,
    /// The length of the reason in bytes.
    pub reason_len: AtomicU64,
    /// The bytes of the reason.
    pub reason: [AtomicU64; REASON_WORDS],
    /// The first step of each epoch.
    pub resume_steps: [AtomicU64; MOST_EPOCHS],
    /// The number of the first frame of each epoch, perhaps with the flag `UNCERTAIN`.
    pub first_sequences: [AtomicU64; MOST_EPOCHS],
    /// The time when the producer began to wait for room, in ns on the clock of the module `clock`; 0 while it does not wait.
    pub waits_since: AtomicU64,
    /// The last time at which the producer showed that it was waiting, on the same clock.
    pub waited_at: AtomicU64,
    /// The time when the run ended, in ms since 1970; 0 if it is unknown. It is written before the end.
    pub ended_at: AtomicU64,
    /// For each epoch, how many numbers a relay has passed over, from the first number of the epoch on. Their frames are not
    /// missing: they were published in an earlier epoch, or are published again in this one.
    pub n_passed: [AtomicU64; MOST_EPOCHS],
    /// Number of mapped segment files that the producer has deleted. Consumers unmap their files when it changes.
    pub n_deleted_files: AtomicU64,
}

/// The first bytes of a slot, which the producer writes.
#[derive(Debug)]
#[repr(C, align(64))]
struct SlotHead {
    /// Length of the frame.
    length: AtomicU64,
    /// 0 if the frame follows in the slot. Otherwise, the frame lies in a segment of staging, and this is the sequence number of
    /// the first frame of that segment, plus 1. Written after the other words.
    segment: AtomicU64,
    /// Inode of the segment file.
    inode: AtomicU64,
    /// Offset of the frame in the segment file.
    offset: AtomicU64,
    /// Sequence number of a frame in a segment.
    sequence: AtomicU64,
}

/// Place of a frame of the ring in a segment of staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InSegment {
    /// Sequence number of the first frame of the segment, which gives the file its name.
    pub first: u64,
    /// Inode of the file.
    pub inode: u64,
    /// Offset of the frame in the file.
    pub offset: u64,
    /// Length of the frame.
    pub length: u64,
    /// Sequence number of the frame.
    pub sequence: u64,
}

/// The size of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// The number of slots, which is at least 2. Each slot holds one frame.
    pub n_slots: u64,
    /// The length of the longest frame in bytes.
    pub slot_len: u64,
}

impl Geometry {
    /// Describes how the given size differs from this one, which is the size of the channel.
    pub(super) fn difference(self, given: Geometry) -> String {
        if self.n_slots != given.n_slots {
            return format!("the channel has {} slots, you gave {}", self.n_slots, given.n_slots);
        }
        let (there, given) = (grouped(self.slot_len), grouped(given.slot_len));
        format!("the channel has slots of {there} bytes, you gave {given}")
    }

    fn stride(self) -> u64 {
        (PREFIX as u64 + self.slot_len).next_multiple_of(PAGE as u64)
    }

    /// Returns the number of bytes before the slots: the head, and a stamp for each slot.
    fn before_slots(self) -> u64 {
        PAGE as u64 + (self.n_slots * size_of::<Stamp>() as u64).next_multiple_of(PAGE as u64)
    }

    fn length(self, directory: &Directory) -> Result<usize> {
        let Geometry { n_slots, slot_len } = self;
        let is_possible = (2..=MOST_SLOTS).contains(&n_slots) && (1..=MOST_BYTES).contains(&slot_len);
        let length = is_possible.then(|| n_slots.checked_mul(self.stride())).flatten();
        let length = length.filter(|length| *length <= MOST_BYTES);
        let length = length.and_then(|length| usize::try_from(length + self.before_slots()).ok());
        length.ok_or_else(|| {
            let path = directory.join("ring");
            let expected = format!("expected 2 to {MOST_SLOTS} slots of at most {MOST_BYTES} bytes together");
            Error::format(&path, None, Some(16), format!("{expected}, got {n_slots} of {slot_len}"))
        })
    }
}

// SAFETY: the type consists of atomic integers only.
unsafe impl Shared for RingHead {}
// SAFETY: the type consists of atomic integers only.
unsafe impl Shared for SlotHead {}

/// The mapped files of a ring and its cursors.
#[derive(Debug)]
pub(super) struct RingFile {
    ring: Mapping,
    cursors: Mapping,
    geometry: Geometry,
}

const _: () = assert!(size_of::<RingHead>() <= PAGE, "the head has a page");

const CURSORS_LEN: usize = size_of::<Room>() + N_CURSORS * size_of::<Cursor>();

impl RingFile {
    /// Creates the files of a new ring. The file of the ring itself comes last: once it exists, the channel is complete.
    pub(super) fn create(directory: &Directory, geometry: Geometry, stream: u64) -> Result<()> {
        let length = geometry.length(directory)?;
        directory.place_file("cursors", CURSORS_LEN as u64, |path, file| {
            let cursors = Mapping::new(path, file, CURSORS_LEN, true)?;
            for cursor in cursors.values::<Cursor>(size_of::<Room>(), N_CURSORS) {
                cursor.clear();
            }
            Ok(())
        })?;
        directory.place_file("ring", length as u64, |path, file| {
            let mut ring = Mapping::new(path, file, length, true)?;
            let head = &ring.values::<RingHead>(0, 1)[0];
            let words = [(&head.magic, MAGIC), (&head.version, VERSION), (&head.stream, stream)];
            let sizes = [(&head.n_slots, geometry.n_slots), (&head.slot_len, geometry.slot_len)];
            for (word, value) in words.into_iter().chain(sizes) {
                word.store(value, Ordering::Relaxed);
            }
            // The first access to each page is slow. It happens here, and not while the first frames are written.
            // SAFETY: the file does not have its final name yet, so that no other party has mapped it.
            unsafe { ring.bytes_mut(PAGE..length) }.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0);
            Ok(())
        })
    }

    /// Opens the files of a ring. Only the producer may write to the ring itself.
    pub(super) fn open(directory: &Directory, is_producer: bool) -> Result<Self> {
        let path = directory.join("ring");
        let file = directory.open_file("ring", OpenOptions::new().read(true).write(is_producer))?;
        let head = Mapping::new(&path, &file, PAGE, is_producer)?;
        let geometry = {
            let head = &head.values::<RingHead>(0, 1)[0];
            let found = (head.magic.load(Ordering::Relaxed), head.version.load(Ordering::Relaxed));
            if found != (MAGIC, VERSION) {
                let message = format!("expected a ring of version {VERSION}, got {:#x}, {}", found.0, found.1);
                return Err(Error::format(&path, None, Some(0), message));
            }
            let (n_slots, slot_len) = (head.n_slots.load(Ordering::Relaxed), head.slot_len.load(Ordering::Relaxed));
            Geometry { n_slots, slot_len }
        };
        let ring = Mapping::new(&path, &file, geometry.length(directory)?, is_producer)?;
        let file = directory.open_file("cursors", OpenOptions::new().read(true).write(true))?;
        let cursors = Mapping::new(&directory.join("cursors"), &file, CURSORS_LEN, true)?;
        Ok(RingFile { ring, cursors, geometry })
    }

    /// Maps all pages of the ring now, for a party that will access all of them.
    pub(super) fn populate(&self) {
        self.ring.populate();
    }

    pub(super) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the head, which is the first page of the file.
    pub(super) fn head(&self) -> &RingHead {
        &self.ring.values(0, 1)[0]
    }

    /// Returns the shared state of the ring, for the protocol.
    pub(super) fn protocol(&self) -> Ring<'_> {
        Ring {
            control: &self.head().control,
            room: &self.cursors.values(0, 1)[0],
            cursors: self.cursors.values(size_of::<Room>(), N_CURSORS),
            stamps: self.ring.values(PAGE, self.geometry.n_slots as usize),
            n_slots: self.geometry.n_slots,
        }
    }

    fn slot(&self, position: u64) -> Range<usize> {
        let geometry = self.geometry;
        let start = (geometry.before_slots() + (position % geometry.n_slots) * geometry.stride()) as usize;
        start..start + PREFIX + geometry.slot_len as usize
    }

    fn slot_head(&self, position: u64) -> &SlotHead {
        &self.ring.values(self.slot(position).start, 1)[0]
    }

    /// Returns the place of the frame at a position, or `None` if the frame is in the slot itself. The caller has pinned the
    /// position, or is the producer.
    pub(super) fn in_segment(&self, position: u64) -> Option<InSegment> {
        let head = self.slot_head(position);
        let first = head.segment.load(Ordering::Acquire).checked_sub(1)?;
        let [inode, offset, length, sequence] =
            [&head.inode, &head.offset, &head.length, &head.sequence].map(|word| word.load(Ordering::Relaxed));
        Some(InSegment { first, inode, offset, length, sequence })
    }

    /// Returns the frame in the slot of a position.
    ///
    /// # Safety
    ///
    /// The producer does not write to the slot as long as the bytes are borrowed. A consumer ensures this by pinning the position.
    pub(super) unsafe fn frame(&self, position: u64) -> &[u8] {
        let slot = self.slot(position);
        let length = self.slot_head(position).length.load(Ordering::Relaxed);
        // SAFETY: the caller ensures that the slot is not written to.
        let frame = unsafe { self.ring.bytes(slot.start + PREFIX..slot.end) };
        &frame[..frame.len().min(length as usize)]
    }

    /// Writes the frame at a position to its slot. `write` fills the slot and returns the length of the frame.
    ///
    /// # Safety
    ///
    /// The caller has claimed the position and has not published it.
    pub(super) unsafe fn write(
        &mut self,
        position: u64,
        write: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<&[u8]> {
        let slot = self.slot(position);
        // SAFETY: the caller has claimed the slot.
        let frame = unsafe { self.ring.bytes_mut(slot.start + PREFIX..slot.end) };
        let length = write(frame)?;
        let head = self.slot_head(position);
        head.length.store(length as u64, Ordering::Relaxed);
        head.segment.store(0, Ordering::Release);
        // SAFETY: as above. The frame is not written to any more.
        unsafe { Ok(&self.frame(position)[..length]) }
    }

    /// Makes the slot of a position refer to a frame in a segment of staging. The position is claimed and not published.
    pub(super) fn refer(&self, position: u64, place: InSegment) {
        let head = self.slot_head(position);
        let words = [(&head.inode, place.inode), (&head.offset, place.offset)];
        for (word, value) in words.into_iter().chain([(&head.length, place.length), (&head.sequence, place.sequence)]) {
            word.store(value, Ordering::Relaxed);
        }
        head.segment.store(place.first + 1, Ordering::Release);
    }

    /// Makes the slot of a claimed position refer to no segment any more, and returns the place to which it referred.
    pub(super) fn forget(&self, position: u64) -> Option<InSegment> {
        let place = self.in_segment(position)?;
        self.slot_head(position).segment.store(0, Ordering::Release);
        Some(place)
    }

    /// Returns the places of all frames that lie in segments, each with a position of its slot.
    pub(super) fn all_in_segments(&self) -> impl Iterator<Item = (u64, InSegment)> + '_ {
        (0..self.geometry.n_slots).filter_map(|position| Some((position, self.in_segment(position)?)))
    }

    /// Copies a frame from its segment to the slot of a position. Consumers may have pinned the slot. They find the frame in the
    /// segment until the copy is complete. `read` fills the bytes of the frame.
    pub(super) fn restore(&mut self, position: u64, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let Some(place) = self.in_segment(position) else { return Ok(()) };
        let slot = self.slot(position);
        let start = slot.start + PREFIX;
        let end = slot.end.min(start.saturating_add(place.length as usize));
        // SAFETY: no party reads the bytes in the slot as long as its head refers to a segment.
        read(unsafe { self.ring.bytes_mut(start..end) })?;
        self.slot_head(position).segment.store(0, Ordering::Release);
        Ok(())
    }

    /// Returns the number of mapped bytes.
    pub(super) fn n_bytes(&self) -> usize {
        self.ring.len() + self.cursors.len()
    }
}
