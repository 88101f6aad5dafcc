//! Tolerance: reading a damaged trajectory for what is whole in it, and saying what is not.
//!
//! What was found damaged is confirmed by reading that frame alone: which frames are left out depends neither on the
//! blocks nor on the batches in which they were read. Nor does it depend on the atoms that are wanted: all atoms of every
//! frame are decoded, so that all that its format says twice is compared. Only what a format says of a frame is tolerated
//! ([`Error::Format`] with a frame); storage that fails, or a file that was cut meanwhile, stays an error.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{AtomSelection, Reader, Source, StoredFrames};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Place, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::source::bytes::FileBytes;
use crate::span::Recorder;

/// What is done where a frame is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is an error.
    #[default]
    Raise,
    /// The trajectory ends before the frame.
    Stop,
    /// The frame is left out.
    Skip,
}

impl OnError {
    /// The choice of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "raise" => Ok(OnError::Raise),
            "stop" => Ok(OnError::Stop),
            "skip" => Ok(OnError::Skip),
            _ => Err(Error::Unsupported(format!("unknown on_error {name:?}; known: raise, stop, skip"))),
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            OnError::Raise => "raise",
            OnError::Stop => "stop",
            OnError::Skip => "skip",
        }
    }
}

/// A frame that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// Its number in the trajectory.
    pub frame: u64,
    /// Whether it stands behind the last whole frame of a file: the number may be that of a frame of the next file.
    pub at_end: bool,
    /// The file, and which frame and byte of it.
    pub place: Place,
    /// What was expected and what was found.
    pub message: String,
}

impl Damage {
    /// The damage of which `error` speaks, if it is any.
    pub(crate) fn of(frame: u64, error: Error) -> Result<Self> {
        match error {
            Error::Format { place, message } if place.frame.is_some() => {
                Ok(Damage { frame, at_end: false, place, message })
            }
            error => Err(error),
        }
    }

    /// The error that it is where it is not tolerated.
    pub fn into_error(self) -> Error {
        Error::Format { place: self.place, message: self.message }
    }
}

/// All damage of a pass over `source`, in the order of frames, each frame once: what readers `found`, and what stands
/// behind the last whole frames of its files.
pub(crate) fn account(source: &dyn Source, mut found: Vec<Damage>) -> Result<Vec<Damage>> {
    match source.on_error() {
        OnError::Raise => return Ok(found),
        OnError::Stop if !found.is_empty() => found.truncate(1),
        OnError::Stop => found.extend(source.damaged_ends()?.into_iter().next()),
        OnError::Skip => found.extend(source.damaged_ends()?),
    }
    found.sort_by_key(|damage| damage.frame);
    found.dedup();
    Ok(found)
}

/// A source that is read for what is whole in it. It is read by frames.
pub struct Tolerant {
    inner: Arc<dyn Source>,
    /// Whether the trajectory ends where damage begins.
    stops: bool,
    /// All atoms, once a reader needs them; `None` where no frame can have so many.
    all: OnceLock<Option<AtomSelection>>,
}

impl Tolerant {
    /// `inner` up to the first damaged frame that is asked for.
    pub(crate) fn stopping(inner: Arc<dyn Source>) -> Self {
        Tolerant { inner, stops: true, all: OnceLock::new() }
    }

    /// `inner` without its damaged frames. It should find frames behind damage as well as it can.
    pub fn skipping(inner: Arc<dyn Source>) -> Self {
        Tolerant { inner, stops: false, all: OnceLock::new() }
    }
}

impl Source for Tolerant {
    fn n_atoms(&self) -> usize {
        self.inner.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.inner.n_frames()
    }

    fn segment_ends(&self) -> Result<Vec<u64>> {
        self.inner.segment_ends()
    }

    fn times(&self) -> Result<Vec<f64>> {
        self.inner.times()
    }

    fn n_bytes(&self) -> u64 {
        self.inner.n_bytes()
    }

    fn frame_offset(&self, frame: u64) -> Result<Option<u64>> {
        self.inner.frame_offset(frame)
    }

    fn on_error(&self) -> OnError {
        if self.stops { OnError::Stop } else { OnError::Skip }
    }

    fn damaged_ends(&self) -> Result<Vec<Damage>> {
        self.inner.damaged_ends()
    }

    fn places(&self) -> Vec<Places> {
        self.inner.places()
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        self.inner.take_places(places)
    }

    fn file(&self) -> Option<&FileBytes> {
        self.inner.file()
    }

    fn n_fetched(&self) -> Option<u64> {
        self.inner.n_fetched()
    }

    fn stored_format(&self) -> Option<&'static str> {
        self.inner.stored_format()
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        self.inner.stored_frames(frames)
    }

    fn precision(&self) -> Option<f32> {
        self.inner.precision()
    }

    fn preferred_step(&self) -> u64 {
        self.inner.preferred_step()
    }

    fn quantities(&self) -> Quantities {
        self.inner.quantities()
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        // Of several files, none behind the first torn one is read when the trajectory ends there.
        let end = if self.stops { self.inner.damaged_ends()?.into_iter().next() } else { None };
        let n_atoms = self.inner.n_atoms();
        // Of no atom, headers alone are wanted: these are checked as they are read.
        let is_part = (1..n_atoms).contains(&atoms.len());
        let all = if is_part { self.all.get_or_init(|| AtomSelection::stored(&*self.inner)) } else { &None };
        Ok(Box::new(TolerantReader {
            inner: self.inner.reader(all.as_ref().unwrap_or(atoms), wanted)?,
            chosen: all.as_ref().map(|_| Chosen { atoms, n_atoms, frames: None }),
            stops: self.stops,
            end,
            extent: FrameSet::all(0),
            n_readable: 0,
            next: 0,
            until: 0,
            trust: u64::MAX,
            damage: Vec::new(),
        }))
    }
}

/// One worker's way through a source in which frames may be damaged.
struct TolerantReader<'a> {
    /// A reader of all atoms.
    inner: Box<dyn Reader + 'a>,
    /// What is wanted of them; `None` where that is all.
    chosen: Option<Chosen<'a>>,
    stops: bool,
    /// Where a file ends too early, if nothing behind that is wanted.
    end: Option<Damage>,
    extent: FrameSet,
    /// How many frames of the extent come before that.
    n_readable: u64,
    /// Which frame of the extent comes next, and before which the inner reader ends.
    next: u64,
    until: u64,
    /// Frames to be given to the inner reader at once: one where something is wrong, then more and more.
    trust: u64,
    damage: Vec<Damage>,
}

/// Selects the wanted atoms from frames that the inner reader decodes in full.
struct Chosen<'a> {
    atoms: &'a AtomSelection,
    n_atoms: usize,
    /// All atoms of some frames; made for the first batch that is to be filled.
    frames: Option<FrameBatch>,
}

impl Chosen<'_> {
    fn read(&mut self, reader: &mut dyn Reader, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        let frames = self.frames.get_or_insert_with(|| batch.for_more_atoms(self.n_atoms));
        batch.clear();
        reader.read(frames, recorder)?;
        batch.copy_atoms(frames, self.atoms.indices());
        Ok(())
    }
}

impl TolerantReader<'_> {
    /// Notes damage of the next frame, and goes on behind it, or not at all.
    fn note(&mut self, damage: Damage) {
        self.damage.push(damage);
        self.next = if self.stops { self.extent.len() } else { self.next + 1 };
        self.until = self.next;
    }

    /// Reads frames from the next one on, as many as the inner reader gives at once.
    fn read_next(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        if self.next == self.until {
            self.until = self.next.saturating_add(self.trust).min(self.n_readable);
            self.trust = self.trust.saturating_mul(2);
            self.inner.start(&Extent::Frames(self.extent.slice(self.next..self.until)))?;
        }
        match &mut self.chosen {
            None => self.inner.read(batch, recorder),
            Some(chosen) => chosen.read(&mut *self.inner, batch, recorder),
        }
    }
}

impl Reader for TolerantReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let Extent::Frames(frames) = extent else {
            return Err(Error::Unsupported("a damaged trajectory is read by frames, not by bytes".into()));
        };
        let is_behind = |i: &u64| self.end.as_ref().is_some_and(|end| frames.get(*i) >= end.frame);
        self.n_readable = (0..frames.len()).find(is_behind).unwrap_or(frames.len());
        (self.extent, self.next, self.until, self.trust) = (frames.clone(), 0, 0, u64::MAX);
        self.damage.clear();
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        while self.next < self.extent.len() {
            if let Some(end) = self.end.clone().filter(|_| self.next == self.n_readable) {
                self.note(end);
                break;
            }
            let frame = self.extent.get(self.next);
            match self.read_next(batch, recorder) {
                Ok(()) if batch.is_empty() => {
                    return Err(Error::Worker(format!("frame {frame} was expected, but the trajectory gave no more")));
                }
                Ok(()) => {
                    self.next += batch.len() as u64;
                    return Ok(());
                }
                Err(error) => {
                    let damage = Damage::of(frame, error)?;
                    if self.until - self.next == 1 {
                        self.note(damage);
                    }
                    // Read on frame by frame, to see which of them it is.
                    self.until = self.next;
                    self.trust = 1;
                }
            }
        }
        batch.clear();
        Ok(())
    }

    fn damage(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.damage)
    }
}

#[cfg(test)]
mod tests;
