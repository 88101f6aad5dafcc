//! A consumer that finds in staging what the ring does not have: what was there before it came, and what was overwritten before it
//! was taken.
//!
//! Frames are handed out in the order of their numbers. As staging gets each frame before the ring does, a gap in the numbers that
//! the ring shows is looked for in staging, and what is not there either was missed. While such a consumer reads staging, it has
//! no place in the ring, and the producer does not wait for it. At the end of staging it enters the ring at the first frame that
//! is there, and skips those which it has had.

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

/// A consumer that has the ring and the staging of a channel.
#[derive(Debug)]
pub struct CatchUp {
    path: PathBuf,
    consumer: Consumer,
    staged: Option<Staged>,
    /// Whether the next frame is looked for in staging.
    is_in_staging: bool,
    /// The number of the frame that comes next.
    wanted: u64,
    /// The channel has reached this number, so that what is before it and not in staging was missed.
    seen: u64,
    /// Whether a gap before the next frame counts: not before the first one.
    counts: bool,
    /// Whether frames were had before, by a member that has come again.
    is_resumed: bool,
    missed: u64,
    /// The numbers that were counted as missed by the last look for a frame.
    gaps: Vec<Range<u64>>,
    /// Of those that were counted as missed, how many nobody had any use for.
    excused: u64,
    /// The number of the first frame that was looked at, and how many were counted as missed before it.
    first_looked: Option<(u64, u64)>,
    /// Whether a frame was there that is before the start, so that none of those that had gone was asked for.
    is_from_start: bool,
    start: Start,
    /// How many frames of the run had gone before the first one that was handed out.
    n_late: Option<u64>,
}

#[derive(Debug)]
struct Staged {
    frames: StagedFrames,
    /// For frames out of turn.
    again: StagedFrames,
}

/// Where the next frame is; it is not given back yet.
#[derive(Debug)]
pub(super) enum Found {
    /// Borrowed in the ring.
    Ring(Header),
    /// Read from staging.
    Staged(Header),
    /// Read from staging out of turn.
    Again(Header),
    /// No more frames will come.
    End(End),
}

/// A frame that is kept while later ones are taken.
#[derive(Debug)]
pub(super) enum Kept {
    /// In the ring, until its pin is let go.
    Held(Pinned),
    /// In memory of its own.
    Copied(Box<[u8]>),
}

/// What comes next.
#[derive(Debug)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// No more frames will come.
    End(End),
}

impl CatchUp {
    /// Joins the channel in a directory, which may have no producer any more. The first frame that is there is the first one that
    /// is staged.
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
        // Before the first frame there is none in staging either: a producer that waits for consumers is to see this one.
        let is_in_staging = staged.is_some() && start != Start::Latest && consumer.sequence() > 0;
        if is_in_staging {
            consumer.leave_ring();
        }
        let mut all = Self::of(path, consumer, staged, start, wanted);
        all.is_in_staging = is_in_staging;
        Ok(all)
    }

    /// Joins the channel in a directory as one who takes only the newest frame of the ring, and never looks into staging.
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

    /// Joins behind the frames that were had before: the next has this number, and steps up to `last`, with its epoch, were seen.
    pub(super) fn resume(path: &Path, wanted: u64, last: Option<(u64, i64)>) -> Result<Self> {
        let mut all = Self::join(path, Start::Sequence(wanted))?;
        all.consumer.set_last(last);
        (all.counts, all.is_resumed, all.n_late) = (true, true, Some(0));
        Ok(all)
    }

    /// What holds for all frames.
    pub fn manifest(&self) -> &Manifest {
        self.consumer.manifest()
    }

    /// Frames that could be had neither from the ring nor from staging any more.
    pub(crate) fn missed(&self) -> u64 {
        // The ring alone does not count what has gone before its consumer came, and numbers do not count what has gone before its
        // first frame.
        let counted = if self.staged.is_some() || self.is_resumed { self.missed } else { self.consumer.missed() };
        counted.saturating_sub(self.excused)
    }

    /// How many frames of the run had gone before the first one that was handed out, of those that were asked for.
    pub fn n_late(&self) -> u64 {
        self.n_late.unwrap_or_default()
    }

    /// Takes note of the first frame that is handed out, and of those that went before it.
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

    /// Whether the next frame is looked for in staging.
    pub fn is_in_staging(&self) -> bool {
        self.is_in_staging
    }

    /// The next frame, or the end; see `Consumer::next`.
    pub fn next(&mut self, at_most: Duration) -> Result<Next<'_>> {
        let found = self.find(at_most)?;
        Ok(self.hand_out(found))
    }

    /// As `next`, of a frame that who asks has to give back.
    pub(super) fn find(&mut self, at_most: Duration) -> Result<Found> {
        self.gaps.clear();
        loop {
            let found = if self.is_in_staging { self.find_in_staging()? } else { self.find_in_ring(at_most)? };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// Looks once; `None` says that it has to be looked again.
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

    /// Looks once; `None` says that it has to be looked again.
    fn find_in_ring(&mut self, at_most: Duration) -> Result<Option<Found>> {
        // Before the look into the ring: what has got its number by then, and is not found there, is not in the ring.
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

    /// Leaves the ring, which has shown that the channel has reached the number `seen`.
    fn turn_to_staging(&mut self, seen: u64) {
        self.consumer.leave_ring();
        self.seen = seen;
        self.is_in_staging = true;
    }

    /// Takes note that there is nothing before this number any more.
    fn pass(&mut self, sequence: u64) {
        if self.counts && self.wanted < sequence {
            self.missed += self.consumer.n_missing(self.wanted, sequence);
            self.gaps.push(self.wanted..sequence);
        }
        self.wanted = self.wanted.max(sequence);
    }

    /// Whether frames were counted as missed by the last look for a frame.
    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Counts frames of these gaps that are before this number no more as missed: nobody had any use for them.
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

    /// Finds the frame of this number out of turn; `None` if it cannot be had any more.
    pub(super) fn find_again(&mut self, sequence: u64) -> Result<Option<Found>> {
        let Some(staged) = &mut self.staged else {
            return Ok(self.consumer.look_back(sequence)?.map(Found::Ring));
        };
        let header = staged.again.read(sequence)?.filter(|header| header.sequence == sequence);
        Ok(header.map(Found::Again))
    }

    /// Whether a frame counts no more, as a restarted simulation begins at its step or before it.
    pub(super) fn is_redone(&self, epoch: u64, step: i64) -> bool {
        self.consumer.is_redone(epoch, step)
    }

    /// Has it forgotten which steps were seen, so that those of a restarted simulation are found again.
    pub(super) fn forget_steps(&mut self) {
        self.consumer.set_last(None);
    }

    /// Gives back what was found, and is not handed out.
    pub(super) fn give_back(&mut self, found: &Found) {
        if matches!(found, Found::Ring(_)) {
            self.consumer.give_back();
        }
    }

    /// What was found, for who keeps it while later frames are taken.
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

    /// Gives back a frame of the ring that was held.
    pub(super) fn let_go(&mut self, pin: usize) {
        self.consumer.let_go(pin);
    }

    /// How many frames of the ring are held.
    pub(super) fn n_held(&self) -> usize {
        self.consumer.n_held()
    }

    /// The ring, for who holds frames of it.
    pub(super) fn ring(&self) -> Arc<RingFile> {
        self.consumer.ring()
    }

    /// What was found, for who gives it back by dropping it.
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

/// The number of the next frame that comes into the ring.
fn next_of(consumer: &mut Consumer) -> Result<u64> {
    let published = consumer.sequence();
    let header = consumer.peek()?;
    Ok(header.map_or(published, |header| header.sequence))
}
