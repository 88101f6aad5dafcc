//! Reading of the undamaged frames of a damaged trajectory, with a report of the damage.
//!
//! Each damaged frame is confirmed by reading it alone, so the skipped frames depend neither on the blocks nor on the
//! batches in which they were read. They do not depend on the selected atoms either: all atoms of every frame are
//! decoded, so that all redundant data of the format is compared. Only errors about a frame are tolerated
//! ([`Error::Format`] with a frame). Failing storage, or a file that was truncated during the run, remains an error.

use std::sync::{Arc, OnceLock};

use super::capabilities::Capabilities;
use super::damage::{Damage, OnError};
use super::{AtomSelection, Reader, Source, SourceExt};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::span::Recorder;

/// Returns all damage of a pass over `source`, in the order of frames, each frame once. This is the damage that readers
/// `found`, and the damage after the last complete frames of its files. If the trajectory ends at damage, only the
/// first entry is returned.
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

/// A source of the undamaged frames of another source, read by frame numbers.
pub struct Tolerant {
    inner: Arc<dyn Source>,
    /// Whether the trajectory ends where damage begins.
    stops: bool,
    /// All atoms, once a reader needs them; `None` if no frame can have that many.
    all: OnceLock<Option<AtomSelection>>,
}

impl Tolerant {
    /// Returns `inner` up to the first damaged frame that was requested.
    pub(crate) fn stopping(inner: Arc<dyn Source>) -> Self {
        Tolerant { inner, stops: true, all: OnceLock::new() }
    }

    /// Returns `inner` without its damaged frames. `inner` should also find frames after damage as far as possible.
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
            // A block of bytes does not know the numbers of its frames, which the report of damage needs.
            byte_blocks: None,
            shared_places: inner.shared_places,
            frame_copies: inner.frame_copies,
            // An incomplete frame is not damage, so `Opened::source_on_error` rejects growing sources.
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
        // If the trajectory ends at damage, the files after the first torn one are not read.
        let end = if self.stops { self.inner.damaged_ends()?.into_iter().next() } else { None };
        let n_atoms = self.inner.n_atoms();
        // Without selected atoms, only headers are read, and these are checked anyway.
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

/// The reader that one worker uses for a source with damaged frames.
struct TolerantReader<'a> {
    /// A reader of all atoms, or of the selected ones if `chosen` is `None`.
    inner: Box<dyn Reader + 'a>,
    /// The selection; `None` if the batch takes the atoms of `inner` as they are.
    chosen: Option<Chosen<'a>>,
    stops: bool,
    /// The first torn end of a file, if the trajectory ends there.
    end: Option<Damage>,
    extent: FrameSet,
    /// Number of frames of the extent before `end`.
    n_readable: u64,
    /// Index of the next frame in the extent.
    next: u64,
    /// Index in the extent at which the inner reader ends.
    until: u64,
    /// Number of frames to request from the inner reader at once. It is unlimited at first, 1 after an error, and then
    /// doubles with each request.
    trust: u64,
    damage: Vec<Damage>,
}

/// A selection of atoms from frames that the inner reader decodes in full.
struct Chosen<'a> {
    atoms: &'a AtomSelection,
    n_atoms: usize,
    /// All atoms of some frames. The batch is created when it is first needed.
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
    /// Records damage of the next frame. The reader then continues after this frame, or ends.
    fn note(&mut self, damage: Damage) {
        self.damage.push(damage);
        self.next = if self.stops { self.extent.len() } else { self.next + 1 };
        self.until = self.next;
    }

    /// Reads frames from the next one on, as many as the inner reader returns at once.
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
                    // From here on, frames are read one by one to find the damaged one.
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
