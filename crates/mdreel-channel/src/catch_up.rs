//! A consumer that reads from staging what the ring does not have: frames that were published before it joined, and frames that
//! were overwritten before it took them.
//!
//! The consumer hands out frames in the order of their numbers. Staging gets each frame before the ring does. If the ring shows a
//! gap in the numbers, the consumer looks for these frames in staging. Frames that are not there either were missed. While the
//! consumer reads staging, it has no place in the ring, and the producer does not wait for it. At the end of staging, it enters the
//! ring at the first frame, and skips the frames that it already had.

mod frame;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::consumer::{Consumer, Pinned, Start};
use super::directory::Directory;
use super::end::End;
use super::layout::Header;
use super::manifest::Manifest;
use super::ring_file::RingFile;
use super::staging::place::StagingPlace;
use super::staging::reader::StagedFrames;
use frame::Bytes;
pub use frame::Frame;
use mdreel_core::error::Result;

/// A consumer that reads the ring and the staging of a channel.
#[derive(Debug)]
pub struct CatchUp {
    path: PathBuf,
    consumer: Consumer,
    staged: Option<Staged>,
    /// Whether the consumer looks for the next frame in staging.
    is_in_staging: bool,
    /// The lowest number that the next frame may have.
    wanted: u64,
    /// The number that the channel has reached. Frames before it that are not in staging were missed.
    seen: u64,
    /// Whether a gap before the next frame counts as missed. A gap before the first frame does not.
    counts: bool,
    /// Whether a member of a group continues after frames that it had received earlier.
    is_resumed: bool,
    missed: u64,
    /// The gaps in the numbers that the last search for a frame has counted as missed.
    gaps: Vec<Range<u64>>,
    /// The number of frames that were counted as missed although the group had committed them.
    excused: u64,
    /// The number of the first frame that was found, and the number of frames that were counted as missed before it.
    first_looked: Option<(u64, u64)>,
    /// Whether a frame before the start was found, so that no requested frame had been lost before.
    is_from_start: bool,
    start: Start,
    /// The number of requested frames of the run that were lost before the first one was handed out.
    n_late: Option<u64>,
}

#[derive(Debug)]
struct Staged {
    frames: StagedFrames,
    /// A second reader, for frames out of order.
    again: StagedFrames,
}

/// The place where a frame was found. The caller has to give the frame back.
#[derive(Debug)]
pub(super) enum Found {
    /// A frame that is borrowed in the ring.
    Ring(Header),
    /// A frame that was read from staging.
    Staged(Header),
    /// A frame that was read from staging out of order.
    Again(Header),
    /// No more frames will come.
    End(End),
}

/// A frame that is kept while later ones are taken.
#[derive(Debug)]
pub(super) enum Kept {
    /// A frame in the ring, which its pin protects.
    Held(Pinned),
    /// A copy of a frame.
    Copied(Box<[u8]>),
}

/// The next frame or the end.
#[derive(Debug)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// No more frames will come.
    End(End),
}

impl CatchUp {
    /// Joins the channel in a directory. The channel need not have a producer any more. With staging, the first available frame is
    /// the first one that is staged.
    pub fn join(path: &Path, start: Start) -> Result<Self> {
        let mut consumer = Consumer::join(path, start)?;
        let staged = match StagingPlace::of(&Directory::open(path)?)? {
            Some(place) => {
                Some(Staged { frames: StagedFrames::open(&place.path)?, again: StagedFrames::open(&place.path)? })
            }
            None => None,
        };
        let wanted = match start {
            Start::Earliest | Start::Step(_) | Start::Time(_) => 0,
            Start::Sequence(sequence) => sequence,
            Start::Latest => next_of(&mut consumer)?,
        };
        // Before the first frame, staging is empty as well. The consumer then stays in the ring, so that a producer that waits for
        // consumers sees it.
        let is_in_staging = staged.is_some() && start != Start::Latest && consumer.sequence() > 0;
        if is_in_staging {
            consumer.leave_ring();
        }
        let mut all = Self::of(path, consumer, staged, start, wanted);
        all.is_in_staging = is_in_staging;
        Ok(all)
    }

    /// Joins the channel in a directory as a consumer that takes only the newest frame of the ring, and never reads staging.
    pub(super) fn join_latest(path: &Path) -> Result<Self> {
        Ok(Self::of(path, Consumer::join_latest(path)?, None, Start::Latest, 0))
    }

    fn of(path: &Path, consumer: Consumer, staged: Option<Staged>, start: Start, wanted: u64) -> Self {
        CatchUp {
            path: path.to_owned(),
            consumer,
            staged,
            is_in_staging: false,
            wanted,
            seen: 0,
            counts: false,
            is_resumed: false,
            missed: 0,
            gaps: Vec::new(),
            excused: 0,
            first_looked: None,
            is_from_start: false,
            start,
            n_late: None,
        }
    }

    /// Leaves the ring for good.
    pub(super) fn leave(&mut self) {
        self.consumer.leave_ring();
    }

    /// Joins after the frames that were received earlier. The next frame has the number `wanted` or a later one. `last` is the
    /// epoch and the step of the last frame that was received.
    pub(super) fn resume(path: &Path, wanted: u64, last: Option<(u64, i64)>) -> Result<Self> {
        let mut all = Self::join(path, Start::Sequence(wanted))?;
        all.consumer.set_last(last);
        (all.counts, all.is_resumed, all.n_late) = (true, true, Some(0));
        Ok(all)
    }

    /// Returns the properties that all frames share.
    pub fn manifest(&self) -> &Manifest {
        self.consumer.manifest()
    }

    /// Returns the number of frames that were available neither in the ring nor in staging any more.
    pub(crate) fn missed(&self) -> u64 {
        // The consumer of the ring does not count frames that were lost before it joined. Gaps in the numbers do not show the
        // frames that were lost before the first one.
        let counted = if self.staged.is_some() || self.is_resumed { self.missed } else { self.consumer.missed() };
        counted.saturating_sub(self.excused)
    }

    /// Returns the number of requested frames of the run that were lost before the first one was handed out.
    pub fn n_late(&self) -> u64 {
        self.n_late.unwrap_or_default()
    }

    /// Records a frame that is handed out. For the first one, this also counts the frames that were lost before it.
    fn note(&mut self, header: &Header) {
        if self.n_late.is_none() {
            let asked = match self.start {
                Start::Sequence(sequence) => sequence,
                Start::Latest => header.sequence,
                Start::Earliest | Start::Step(_) | Start::Time(_) => 0,
            };
            let first = self.consumer.first_of_run(header.epoch).max(asked);
            let (looked, n_missed) = self.first_looked.unwrap_or((header.sequence, 0));
            let n_late = self.consumer.n_missing(first, looked).saturating_sub(n_missed);
            self.n_late = Some(if self.is_from_start { 0 } else { n_late });
        }
        self.consumer.note(header);
    }

    /// Returns whether the consumer looks for the next frame in staging.
    pub fn is_in_staging(&self) -> bool {
        self.is_in_staging
    }

    /// Returns the next frame, or the end; see `Consumer::next`.
    pub fn next(&mut self, at_most: Duration) -> Result<Next<'_>> {
        let found = self.find(at_most)?;
        Ok(self.hand_out(found))
    }

    /// Finds the next frame as `next` does. The caller has to give the frame back.
    pub(super) fn find(&mut self, at_most: Duration) -> Result<Found> {
        self.gaps.clear();
        loop {
            let found = if self.is_in_staging { self.find_in_staging()? } else { self.find_in_ring(at_most)? };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// Looks for the next frame in staging once. Returns `None` if the caller has to look again.
    fn find_in_staging(&mut self) -> Result<Option<Found>> {
        self.consumer.check()?;
        let read = match &mut self.staged {
            Some(staged) => staged.frames.read(self.wanted)?,
            None => None,
        };
        let Some(header) = read else {
            self.pass(self.seen);
            self.consumer.enter_ring()?;
            self.is_in_staging = false;
            return Ok(None);
        };
        self.pass(header.sequence);
        self.had(&header);
        if self.consumer.is_skipped(&header) {
            return Ok(None);
        }
        self.note(&header);
        Ok(Some(Found::Staged(header)))
    }

    /// Looks for the next frame in the ring once, and waits if there is none. Returns `None` if the caller has to look again.
    fn find_in_ring(&mut self, at_most: Duration) -> Result<Option<Found>> {
        // The number is loaded before the ring is read. A frame with a lower number that is not found in the ring afterwards is not
        // in the ring.
        let published = self.consumer.sequence();
        let has_staging = self.staged.is_some();
        let Some(header) = self.consumer.look()? else {
            if has_staging && published > self.wanted {
                self.turn_to_staging(published);
                return Ok(None);
            }
            let wanted = has_staging.then_some(self.wanted);
            return Ok(self.consumer.wait(at_most, wanted)?.map(Found::End));
        };
        if has_staging && header.sequence > self.wanted {
            self.turn_to_staging(header.sequence);
            return Ok(None);
        }
        let is_new = header.sequence >= self.wanted;
        if is_new {
            self.pass(header.sequence);
            self.had(&header);
        }
        if !is_new || self.consumer.is_skipped(&header) {
            self.consumer.give_back();
            return Ok(None);
        }
        self.note(&header);
        Ok(Some(Found::Ring(header)))
    }

    /// Leaves the ring for staging. The ring has shown that the channel has reached the number `seen`.
    fn turn_to_staging(&mut self, seen: u64) {
        self.consumer.leave_ring();
        self.seen = seen;
        self.is_in_staging = true;
    }

    /// Records that no frame before this number is available any more.
    fn pass(&mut self, sequence: u64) {
        if self.counts && self.wanted < sequence {
            self.missed += self.consumer.n_missing(self.wanted, sequence);
            self.gaps.push(self.wanted..sequence);
        }
        self.wanted = self.wanted.max(sequence);
    }

    /// Returns whether the last search for a frame has counted frames as missed.
    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Stops counting frames of these gaps as missed if they are before this number, because the group has committed them.
    pub(super) fn excuse_before(&mut self, sequence: u64) {
        for gap in std::mem::take(&mut self.gaps) {
            self.excused += self.consumer.n_missing(gap.start, gap.end.min(sequence));
        }
    }

    fn had(&mut self, header: &Header) {
        if self.first_looked.is_none() {
            self.first_looked = Some((header.sequence, self.missed()));
        }
        self.is_from_start |= self.consumer.is_before_start(header);
        self.wanted = header.sequence.saturating_add(1);
        self.counts = true;
    }

    /// Finds the frame with this number out of order. Returns `None` if it is not available any more.
    pub(super) fn find_again(&mut self, sequence: u64) -> Result<Option<Found>> {
        let Some(staged) = &mut self.staged else {
            return Ok(self.consumer.look_back(sequence)?.map(Found::Ring));
        };
        let header = staged.again.read(sequence)?.filter(|header| header.sequence == sequence);
        Ok(header.map(Found::Again))
    }

    /// Returns whether a frame no longer counts because a restarted simulation begins at its step or before it.
    pub(super) fn is_redone(&self, epoch: u64, step: i64) -> bool {
        self.consumer.is_redone(epoch, step)
    }

    /// Forgets which steps were received, so that those of a restarted simulation are found again.
    pub(super) fn forget_steps(&mut self) {
        self.consumer.set_last(None);
    }

    /// Gives back a frame that was found but is not handed out.
    pub(super) fn give_back(&mut self, found: &Found) {
        if matches!(found, Found::Ring(_)) {
            self.consumer.give_back();
        }
    }

    /// Keeps a frame that was found while later frames are taken.
    pub(super) fn keep(&mut self, found: &Found) -> Kept {
        let staged = self.staged.as_ref();
        Kept::Copied(match found {
            Found::End(_) => Box::default(),
            Found::Staged(_) => staged.map(|staged| staged.frames.frame()).unwrap_or_default().into(),
            Found::Again(_) => staged.map(|staged| staged.again.frame()).unwrap_or_default().into(),
            Found::Ring(_) => match self.consumer.hold() {
                Some(pinned) => return Kept::Held(pinned),
                None => {
                    let copy = self.consumer.bytes().into();
                    self.consumer.give_back();
                    copy
                }
            },
        })
    }

    /// Gives back a frame of the ring that is held.
    pub(super) fn let_go(&mut self, pin: usize) {
        self.consumer.let_go(pin);
    }

    /// Returns the number of frames of the ring that are held.
    pub(super) fn n_held(&self) -> usize {
        self.consumer.n_held()
    }

    /// Returns the ring, for frames that outlive a borrow of the consumer.
    pub(super) fn ring(&self) -> Arc<RingFile> {
        self.consumer.ring()
    }

    /// Hands out what was found. A frame is given back when it is dropped.
    pub(super) fn hand_out(&mut self, found: Found) -> Next<'_> {
        let staged = self.staged.as_ref();
        let bytes = match found {
            Found::End(end) => return Next::End(end),
            Found::Ring(header) => Bytes::Ring(self.consumer.borrowed(header)),
            Found::Staged(header) => {
                Bytes::Staged(header, staged.map(|staged| staged.frames.frame()).unwrap_or_default())
            }
            Found::Again(header) => {
                Bytes::Staged(header, staged.map(|staged| staged.again.frame()).unwrap_or_default())
            }
        };
        Next::Frame(Frame { path: &self.path, bytes })
    }
}

/// Returns the number of the next frame that comes into the ring.
fn next_of(consumer: &mut Consumer) -> Result<u64> {
    let published = consumer.sequence();
    let header = consumer.peek()?;
    Ok(header.map_or(published, |header| header.sequence))
}
