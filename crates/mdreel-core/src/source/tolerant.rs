//! Reading of the undamaged frames of a damaged trajectory, with a report of the damage.
//!
//! What was found damaged is confirmed by reading that frame alone: which frames are left out depends neither on the
//! blocks nor on the batches in which they were read. Nor does it depend on the selected atoms: all atoms of every
//! frame are decoded, so all that its format says twice is compared. Only what a format says of a frame is tolerated
//! ([`Error::Format`] with a frame); failing storage or a file that was truncated during the run remains an error.

use std::sync::{Arc, OnceLock};

use super::capabilities::Capabilities;
use super::damage::{Damage, OnError};
use super::{AtomSelection, Reader, Source, SourceExt};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::span::Recorder;

/// All damage of a pass over `source`, in the order of frames, each frame once: the damage that readers `found`, and
/// the damage behind the last complete frames of its files.
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

/// Source of the undamaged frames of another source, which is read by frames.
pub struct Tolerant {
    inner: Arc<dyn Source>,
    /// Whether the trajectory ends where damage begins.
    stops: bool,
    /// All atoms, once a reader needs them; `None` where no frame can have so many.
    all: OnceLock<Option<AtomSelection>>,
}

impl Tolerant {
    /// `inner` up to the first damaged frame that was requested.
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

    fn times(&self) -> Result<Vec<f64>> {
        self.inner.times()
    }

    fn n_bytes(&self) -> u64 {
        self.inner.n_bytes()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.inner.capabilities();
        Capabilities {
            segments: inner.segments,
            frame_offsets: inner.frame_offsets,
            // A block of bytes does not know the numbers of its frames, by which damage is reported.
            byte_blocks: None,
            shared_places: inner.shared_places,
            frame_copies: inner.frame_copies,
            // An incomplete frame is not damage: `Opened::source_on_error` refuses growing sources.
            growth: None,
            end_check: inner.end_check,
            on_error: if self.stops { OnError::Stop } else { OnError::Skip },
            file: inner.file,
            n_fetched: inner.n_fetched,
            precision: inner.precision,
            preferred_step: inner.preferred_step,
            quantities: inner.quantities,
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        // Of several files, none behind the first torn one is read when the trajectory ends there.
        let end = if self.stops { self.inner.damaged_ends()?.into_iter().next() } else { None };
        let n_atoms = self.inner.n_atoms();
        // Of no atom, headers alone are selected: these are checked as they are read.
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
    /// The selected ones; `None` for all.
    chosen: Option<Chosen<'a>>,
    stops: bool,
    /// Where a file ends too early, if nothing behind that is selected.
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

/// Selects the selected atoms from frames that the inner reader decodes in full.
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
            return Err(Error::unsupported("a damaged trajectory is read by frames, not by bytes"));
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
                    return Err(Error::worker(format!("frame {frame} was expected, but the trajectory gave no more")));
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
