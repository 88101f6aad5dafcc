//! Sources: where frames come from.
//!
//! A [`Source`] is a trajectory that has been opened: immutable, shared by all workers of a process. Each worker
//! reads it through a [`Reader`] of its own, which decodes the wanted atoms and no others.

pub mod bytes;
pub(crate) mod chain;
pub mod chunked;
pub mod dcd;
pub mod fault;
pub mod follow;
pub mod frame_index;
pub mod growth;
mod interleaved;
pub(crate) mod located;
pub mod lookout;
pub mod memory;
pub mod netcdf3;
mod numbered;
pub mod open;
pub(crate) mod pieces;
pub mod places;
pub mod read;
pub mod tolerant;
pub mod trr;
pub mod xtc;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Extent;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::span::Recorder;
use bytes::FileBytes;
use growth::Growth;
use places::Places;
use tolerant::{Damage, OnError};

/// The atoms that a kernel wants: ascending, without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtomSelection {
    indices: Vec<u32>,
}

impl AtomSelection {
    /// Checks that `indices` ascend strictly.
    pub fn new(indices: Vec<u32>) -> Result<Self> {
        match indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            None => Ok(AtomSelection { indices }),
            Some(pair) => Err(Error::Mismatch(format!(
                "atom indices must ascend without repetition: {} comes before {}",
                pair[0], pair[1]
            ))),
        }
    }

    /// All of `n_atoms` atoms.
    pub fn all(n_atoms: usize) -> Self {
        AtomSelection { indices: (0..n_atoms as u32).collect() }
    }

    /// All atoms of `source`; `None` where its bytes cannot hold so many. A frame of a box alone may claim any number of
    /// atoms, for which no memory is to be taken: every atom that is there needs two bits, but for the nine of an XTC frame
    /// without compression.
    pub(crate) fn stored(source: &dyn Source) -> Option<Self> {
        let (n_atoms, most) = (source.n_atoms(), source.n_bytes().saturating_mul(4).saturating_add(9));
        (n_atoms as u64 <= most).then(|| AtomSelection::all(n_atoms))
    }

    /// The indices.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Number of atoms wanted.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether no atom is wanted.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Checks that a trajectory of `n_atoms` atoms has all of them.
    pub fn check(&self, n_atoms: usize) -> Result<()> {
        match self.indices.last() {
            Some(&last) if last as usize >= n_atoms => {
                Err(Error::Mismatch(format!("atom index {last} was asked for, but the trajectory has {n_atoms} atoms")))
            }
            _ => Ok(()),
        }
    }
}

/// Frames that were located while a block of bytes was read. Parts of neighbouring blocks must join: the first
/// frame of a part starts where the part before it ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LocatedFrames {
    /// Where the first frame starts; `None` when no frame begins within the block.
    pub first: Option<u64>,
    /// Where the last frame ends.
    pub end: u64,
    /// Start, step and time (ps) of each frame.
    pub frames: Vec<FrameLocation>,
}

/// Where a frame starts, and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrameLocation {
    /// First byte.
    pub offset: u64,
    /// Integration step.
    pub step: i64,
    /// Time in ps.
    pub time: f64,
}

/// Frames as they lie in storage.
#[derive(Debug)]
pub struct StoredFrames<'a> {
    /// The name of their format.
    pub format: &'static str,
    /// Where they are.
    pub file: &'a FileBytes,
    /// From the first byte of the first frame to the last of the last.
    pub bytes: Range<u64>,
    /// How many they are.
    pub n_frames: u64,
}

/// A trajectory that has been opened.
pub trait Source: Send + Sync {
    /// Atoms in each frame.
    fn n_atoms(&self) -> usize;

    /// Number of frames; may have to locate them first.
    fn n_frames(&self) -> Result<u64>;

    /// The number of the first frame behind each segment, in order; may have to locate them first. One file is one segment.
    fn segment_ends(&self) -> Result<Vec<u64>> {
        Ok(vec![self.n_frames()?])
    }

    /// Time in ps and step of each frame; may have to locate them first.
    fn times(&self) -> Result<Vec<f64>>;

    /// Size in bytes of the frames in storage.
    fn n_bytes(&self) -> u64;

    /// Checks that nothing stands behind the last whole frame: a torn frame must not be taken for the end.
    fn check_end(&self) -> Result<()> {
        Ok(())
    }

    /// What stands behind the last whole frame of each file that is torn, in order.
    fn damaged_ends(&self) -> Result<Vec<Damage>> {
        match self.check_end() {
            Ok(()) => Ok(Vec::new()),
            Err(error) => Ok(vec![Damage { at_end: true, ..Damage::of(self.n_frames()?, error)? }]),
        }
    }

    /// What its readers do where a frame is damaged.
    fn on_error(&self) -> OnError {
        OnError::Raise
    }

    /// Where a frame begins in its file, if frames stand in one piece; may have to locate them first.
    fn frame_offset(&self, _frame: u64) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The ranges of bytes to cut into blocks, if the frames have not been located yet and this source can find
    /// frames from anywhere. One range for each file.
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        None
    }

    /// Takes note of the frames located by all blocks of a whole pass, in order. Returns whether the parts join
    /// without a gap: if they do not, a block was misled by bytes that look like a frame, and the pass is void.
    fn locate(&self, _parts: Vec<LocatedFrames>) -> Result<bool> {
        Ok(true)
    }

    /// What is known of each of its files, for other processes that read them.
    fn places(&self) -> Vec<Places> {
        self.file().map(|file| Places::of(file, None)).into_iter().collect()
    }

    /// Takes over what another process knows of the same files: one for each file, in order.
    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        match (self.file(), self.file().and_then(|_| places.next())) {
            (Some(file), Some(known)) => known.check(file),
            _ => Ok(()),
        }
    }

    /// The source as one that grows while it is read, if it does: its frames so far are not all that there will be.
    fn growth(&self) -> Option<&dyn Growth> {
        None
    }

    /// The file, if it is one.
    fn file(&self) -> Option<&FileBytes> {
        None
    }

    /// Bytes that came through the network so far; `None` if none has to.
    fn n_fetched(&self) -> Option<u64> {
        self.file()?.n_fetched()
    }

    /// The bytes of consecutive frames, where the format is such that frames laid behind one another are a file. May
    /// have to locate them first.
    fn stored_frames(&self, _frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        Ok(None)
    }

    /// The format in which all of its frames stand alone, so that any of them laid behind one another are a file.
    fn stored_format(&self) -> Option<&'static str> {
        None
    }

    /// Integers per nm to which its coordinates were rounded, of several the most; `None` where they were not.
    fn precision(&self) -> Option<f32> {
        None
    }

    /// How many frames, counted from a multiple of that number, should rather not be split between blocks: they are
    /// stored in one piece.
    fn preferred_step(&self) -> u64 {
        1
    }

    /// What its frames can have.
    fn quantities(&self) -> Quantities {
        Quantities::POSITIONS
    }

    /// A reader of `wanted` quantities of the selected atoms, for batches made for the same. What the source does not
    /// have is no error: each frame says what is present.
    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>>;
}

/// One worker's way through a source.
pub trait Reader: Send {
    /// Prepares to read an extent from its beginning.
    fn start(&mut self, extent: &Extent) -> Result<()>;

    /// Replaces the content of `batch` with the next frames of the extent; an empty batch says that there are no
    /// more. Records what reading and decompressing cost.
    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()>;

    /// What was located since `start`, for an extent in bytes.
    fn located(&mut self) -> LocatedFrames {
        LocatedFrames::default()
    }

    /// What was found damaged and left out since `start`.
    fn damage(&mut self) -> Vec<Damage> {
        Vec::new()
    }
}
