//! Sources of frames.
//!
//! A [`Source`] is an open trajectory: immutable, and shared by all workers of a process. Each worker reads it through
//! its own [`Reader`], which decodes only the selected atoms.

pub mod bytes;
pub mod capabilities;
pub(crate) mod chain;
pub mod chunked;
pub mod damage;
pub mod dcd;
pub(crate) mod deferred;
pub mod fault;
pub mod follow;
pub mod format;
pub mod frame_index;
pub mod growth;
mod interleaved;
pub mod kept_chain;
pub(crate) mod lazy_list;
pub(crate) mod located;
pub mod lookout;
pub mod memory;
pub mod netcdf3;
mod numbered;
pub mod open;
pub(crate) mod pieces;
pub mod places;
pub mod read;
pub mod rows;
mod stored;
pub mod tolerant;
pub mod trr;
pub mod xtc;

use std::ops::Range;

use crate::block::Extent;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::span::Recorder;
use capabilities::{Capabilities, EndCheck, Segments};
use damage::{Damage, OnError};
use growth::Growth;
use places::Places;
use rows::NextRows;

pub use stored::{FrameLocation, LocatedFrames, StoredFrames};

/// A selection of atoms: their indices in ascending order, without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtomSelection {
    indices: Vec<u32>,
}

impl AtomSelection {
    /// Creates a selection. Returns an error unless `indices` ascend strictly.
    pub fn new(indices: Vec<u32>) -> Result<Self> {
        match indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            None => Ok(AtomSelection { indices }),
            Some(pair) => Err(Error::mismatch(format!(
                "atom indices must ascend without repetition: {} comes before {}",
                pair[0], pair[1]
            ))),
        }
    }

    /// Selects all of `n_atoms` atoms.
    pub fn all(n_atoms: usize) -> Self {
        AtomSelection { indices: (0..n_atoms as u32).collect() }
    }

    /// Selects all atoms of `source`. Returns `None` if the bytes of the source cannot hold that many atoms.
    ///
    /// A frame that holds only a box may claim any number of atoms, for which no memory must be allocated. Every stored
    /// atom needs at least two bits, except for the up to nine atoms of an uncompressed XTC frame.
    pub(crate) fn stored(source: &dyn Source) -> Option<Self> {
        let (n_atoms, most) = (source.n_atoms(), source.n_bytes().saturating_mul(4).saturating_add(9));
        (n_atoms as u64 <= most).then(|| AtomSelection::all(n_atoms))
    }

    /// Returns the indices of the selected atoms.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns the number of selected atoms.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Returns whether no atom is selected.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Returns an error if a trajectory of `n_atoms` atoms lacks a selected atom.
    pub fn check(&self, n_atoms: usize) -> Result<()> {
        match self.indices.last() {
            Some(&last) if last as usize >= n_atoms => {
                Err(Error::mismatch(format!("atom index {last} was asked for, but the trajectory has {n_atoms} atoms")))
            }
            _ => Ok(()),
        }
    }
}

/// An open trajectory.
pub trait Source: Send + Sync {
    /// Returns the number of atoms in each frame.
    fn n_atoms(&self) -> usize;

    /// Returns the number of frames. The source may have to locate the frames first.
    fn n_frames(&self) -> Result<u64>;

    /// Returns the time of each frame in ps. The source may have to locate the frames first.
    fn times(&self) -> Result<Vec<f64>>;

    /// Returns the size of the stored frames in bytes.
    fn n_bytes(&self) -> u64;

    /// Returns what the source offers besides reading. [`SourceExt`] provides defaults for missing capabilities.
    fn capabilities(&self) -> Capabilities<'_>;

    /// Creates a reader of the `wanted` quantities of the selected atoms. Its batches must be made for the same atoms
    /// and quantities. A quantity that the source lacks is not an error: each frame states which quantities it
    /// contains.
    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>>;
}

/// The capabilities of every source, with defaults for those that a source lacks.
pub trait SourceExt: Source {
    /// See [`Segments::segment_ends`]. A source without segments counts as a single segment.
    fn segment_ends(&self) -> Result<Vec<u64>> {
        self.capabilities().segments.map_or_else(|| Ok(vec![self.n_frames()?]), Segments::segment_ends)
    }

    /// See [`EndCheck::check_end`]. A source that tolerates damage reports torn frames as damage, so this check passes.
    fn check_end(&self) -> Result<()> {
        match self.capabilities() {
            Capabilities { on_error: OnError::Raise, end_check: Some(ending), .. } => ending.check_end(),
            _ => Ok(()),
        }
    }

    /// See [`Segments::damaged_ends`].
    fn damaged_ends(&self) -> Result<Vec<Damage>> {
        let Capabilities { segments, end_check, .. } = self.capabilities();
        if let Some(segments) = segments {
            return segments.damaged_ends();
        }
        match end_check.map_or(Ok(()), EndCheck::check_end) {
            Ok(()) => Ok(Vec::new()),
            Err(error) => Ok(vec![Damage { at_end: true, ..Damage::of(self.n_frames()?, error)? }]),
        }
    }

    /// See [`Capabilities::on_error`].
    fn on_error(&self) -> OnError {
        self.capabilities().on_error
    }

    /// See [`capabilities::FrameOffsets::frame_offset`].
    fn frame_offset(&self, frame: u64) -> Result<Option<u64>> {
        self.capabilities().frame_offsets.map(|offsets| offsets.frame_offset(frame)).transpose()
    }

    /// See [`capabilities::ByteBlocks::unlocated_bytes`].
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        self.capabilities().byte_blocks?.unlocated_bytes()
    }

    /// See [`capabilities::ByteBlocks::locate`].
    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        self.capabilities().byte_blocks.map_or(Ok(true), |blocks| blocks.locate(parts))
    }

    /// See [`capabilities::SharedPlaces::places`].
    fn places(&self) -> Vec<Places> {
        match self.capabilities() {
            Capabilities { shared_places: Some(shared), .. } => shared.places(),
            Capabilities { file, .. } => file.map(|file| Places::of(file, None)).into_iter().collect(),
        }
    }

    /// See [`capabilities::SharedPlaces::take_places`].
    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        match self.capabilities() {
            Capabilities { shared_places: Some(shared), .. } => shared.take_places(places),
            Capabilities { file: Some(file), .. } => places.next().map_or(Ok(()), |known| known.check(file)),
            _ => Ok(()),
        }
    }

    /// See [`capabilities::SharedPlaces::keep_index`].
    fn keep_index(&self) {
        self.capabilities().shared_places.into_iter().for_each(|shared| shared.keep_index());
    }

    /// See [`Capabilities::growth`].
    fn growth(&self) -> Option<&dyn Growth> {
        self.capabilities().growth
    }

    /// See [`Capabilities::n_fetched`].
    fn n_fetched(&self) -> Option<u64> {
        self.capabilities().n_fetched
    }

    /// See [`capabilities::FrameCopies::stored_frames`].
    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        self.capabilities().frame_copies.map_or(Ok(None), |copies| copies.stored_frames(frames))
    }

    /// See [`capabilities::FrameCopies::stored_format`].
    fn stored_format(&self) -> Option<&'static str> {
        self.capabilities().frame_copies?.stored_format()
    }

    /// See [`Capabilities::precision`].
    fn precision(&self) -> Option<f32> {
        self.capabilities().precision
    }

    /// See [`Capabilities::preferred_step`].
    fn preferred_step(&self) -> u64 {
        self.capabilities().preferred_step
    }

    /// See [`Capabilities::quantities`].
    fn quantities(&self) -> Quantities {
        self.capabilities().quantities
    }
}

impl<S: Source + ?Sized> SourceExt for S {}

/// A reader that one worker uses to read a source.
pub trait Reader: Send {
    /// Prepares to read an extent from its beginning.
    fn start(&mut self, extent: &Extent) -> Result<()>;

    /// Replaces the content of `batch` with the next frames of the extent. An empty batch means that the extent is
    /// finished. The reader records the time spent on reading and decompressing.
    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()>;

    /// Reads like [`Self::read`] and writes the frames to `rows`. The reader chooses how many frames it reads. Values
    /// that it writes directly to a row may be missing from the columns of the batch.
    fn read_rows(&mut self, batch: &mut FrameBatch, rows: &mut NextRows<'_>, recorder: &mut Recorder) -> Result<()> {
        self.read(batch, recorder)?;
        rows.write(batch);
        Ok(())
    }

    /// Returns the frames that the reader has located since `start`, for an extent in bytes.
    fn located(&mut self) -> LocatedFrames {
        LocatedFrames::default()
    }

    /// Returns the damage that the reader has found and skipped since `start`.
    fn damage(&mut self) -> Vec<Damage> {
        Vec::new()
    }
}
