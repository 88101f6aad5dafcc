//! The files of a ring: what is in them, how they are made, and what is checked before they are believed.

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
/// Bytes of a slot before its frame: a [`SlotHead`].
const PREFIX: usize = size_of::<SlotHead>();
/// More slots than this are not a ring.
const MOST_SLOTS: u64 = 1 << 20;
/// More bytes than this are not a ring.
const MOST_BYTES: u64 = 1 << 44;
/// How many consumers there may be at a time.
pub const N_CURSORS: usize = 1024;
/// How often a producer may restart.
pub(crate) const MOST_EPOCHS: usize = 64;
const REASON_WORDS: usize = 32;
/// The longest reason that an end record keeps.
pub(crate) const MOST_REASON: usize = REASON_WORDS * 8;

/// The first page of the ring's file.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct RingHead {
    magic: AtomicU64,
    version: AtomicU64,
    n_slots: AtomicU64,
    slot_len: AtomicU64,
    /// The stream.
    pub stream: AtomicU64,
    /// The number of the next frame of the stream.
    pub sequence: AtomicU64,
    /// The current epoch; written after its entry in `resume_steps`.
    pub epoch: AtomicU64,
    /// How many entries `resume_steps` has.
    pub n_epochs: AtomicU64,
    /// 0 while frames come; else how it ended. Written after the reason.
    pub end: AtomicU64,
    /// What the protocol works with.
    pub control: Control,
    /// Bytes of the reason.
    pub reason_len: AtomicU64,
    /// The reason, as bytes.
    pub reason: [AtomicU64; REASON_WORDS],
    /// From which step on each epoch goes.
    pub resume_steps: [AtomicU64; MOST_EPOCHS],
    /// With which number of a frame each epoch began.
    pub first_sequences: [AtomicU64; MOST_EPOCHS],
    /// Since when the producer has waited for room, in ns of the clock of `clock`; 0 while it does not.
    pub waits_since: AtomicU64,
    /// When it was last seen to wait, on the same clock.
    pub waited_at: AtomicU64,
    /// When the run has ended, in ms since 1970; 0 if that is not known. Written before the end.
    pub ended_at: AtomicU64,
    /// Of a relay: so many numbers from the first one of each epoch on stand for frames that nobody misses: they were published in an
    /// epoch before, or are published again in this one.
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
    /// How many frames it holds; at least 2.
    pub n_slots: u64,
    /// The longest frame, in bytes.
    pub slot_len: u64,
}

impl Geometry {
    /// What another size has that differs from this one, of the channel, in words.
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

    /// Bytes before the slots: the head, and a stamp for each slot.
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

// SAFETY: atomic integers only.
unsafe impl Shared for RingHead {}
// SAFETY: atomic integers only.
unsafe impl Shared for SlotHead {}

/// A ring and its cursors in memory.
#[derive(Debug)]
pub(super) struct RingFile {
    ring: Mapping,
    cursors: Mapping,
    geometry: Geometry,
}

const _: () = assert!(size_of::<RingHead>() <= PAGE, "the head has a page");

const CURSORS_LEN: usize = size_of::<Room>() + N_CURSORS * size_of::<Cursor>();

impl RingFile {
    /// Makes the files of a new ring. The ring's own is last: with it, all of the channel is there.
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
            // The first touch of each page is paid here, not by the first frames.
            // SAFETY: the file has no name yet, so that nobody else has it.
            unsafe { ring.bytes_mut(PAGE..length) }.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0);
            Ok(())
        })
    }

    /// Opens the files of a ring. Only the producer may write to the ring.
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

    /// Has its pages ready for frames, for who will touch them all.
    pub(super) fn populate(&self) {
        self.ring.populate();
    }

    /// Its size.
    pub(super) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The first page.
    pub(super) fn head(&self) -> &RingHead {
        &self.ring.values(0, 1)[0]
    }

    /// The ring, for the protocol.
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

    /// Returns the place of the frame at a position, or `None` if the frame is in the slot itself. The position has to be pinned, or
    /// this has to be the producer.
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
    /// The position is pinned, and stays so as long as the bytes.
    pub(super) unsafe fn frame(&self, position: u64) -> &[u8] {
        let slot = self.slot(position);
        let length = self.slot_head(position).length.load(Ordering::Relaxed);
        // SAFETY: the caller has pinned the slot.
        let frame = unsafe { self.ring.bytes(slot.start + PREFIX..slot.end) };
        &frame[..frame.len().min(length as usize)]
    }

    /// Writes the frame at a position to its slot. `write` fills the slot, and returns the length of the frame.
    ///
    /// # Safety
    ///
    /// The position is claimed and not published.
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
        // SAFETY: as above; the frame is not written to any more.
        unsafe { Ok(&self.frame(position)[..length]) }
    }

    /// Declares that the frame at a position, which is claimed and not published, lies in a segment of staging.
    pub(super) fn refer(&self, position: u64, place: InSegment) {
        let head = self.slot_head(position);
        let words = [(&head.inode, place.inode), (&head.offset, place.offset)];
        for (word, value) in words.into_iter().chain([(&head.length, place.length), (&head.sequence, place.sequence)]) {
            word.store(value, Ordering::Relaxed);
        }
        head.segment.store(place.first + 1, Ordering::Release);
    }

    /// Declares that the slot of a claimed position has no frame in a segment any more, and returns where it had one.
    pub(super) fn forget(&self, position: u64) -> Option<InSegment> {
        let place = self.in_segment(position)?;
        self.slot_head(position).segment.store(0, Ordering::Release);
        Some(place)
    }

    /// Returns the places of all slots whose frames lie in segments, each with a position of its slot.
    pub(super) fn all_in_segments(&self) -> impl Iterator<Item = (u64, InSegment)> + '_ {
        (0..self.geometry.n_slots).filter_map(|position| Some((position, self.in_segment(position)?)))
    }

    /// Copies a frame from its segment to the slot of a position. Consumers may have pinned the slot: they find the frame in the
    /// segment until it is complete in the slot. `read` fills the bytes of the frame.
    pub(super) fn restore(&mut self, position: u64, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let Some(place) = self.in_segment(position) else { return Ok(()) };
        let slot = self.slot(position);
        let start = slot.start + PREFIX;
        let end = slot.end.min(start.saturating_add(place.length as usize));
        // SAFETY: nobody reads the bytes in the slot as long as its head refers to a segment.
        read(unsafe { self.ring.bytes_mut(start..end) })?;
        self.slot_head(position).segment.store(0, Ordering::Release);
        Ok(())
    }

    /// How many bytes are mapped.
    pub(super) fn n_bytes(&self) -> usize {
        self.ring.len() + self.cursors.len()
    }
}
