//! Capabilities of a source in addition to reading frames.

use std::ops::Range;

use super::bytes::FileBytes;
use super::damage::{Damage, OnError};
use super::growth::Growth;
use super::places::Places;
use super::stored::{LocatedFrames, StoredFrames};
use crate::error::Result;
use crate::frame::Quantities;

/// All that a source offers besides reading frames. Code asks for it once a pass, a worker or a block, never for each
/// frame.
///
/// The source of a format names what it has and takes the rest from [`Capabilities::NONE`] or
/// [`Capabilities::of_file`]. A source that wraps others lists every field, so a new capability does not compile until
/// each wrapper decides about it.
pub struct Capabilities<'a> {
    /// The files, if there are several.
    pub segments: Option<&'a dyn Segments>,
    /// Where frames begin, if each stands in one piece of one file.
    pub frame_offsets: Option<&'a dyn FrameOffsets>,
    /// Reading by ranges of bytes, if frames can be found from anywhere.
    pub byte_blocks: Option<&'a dyn ByteBlocks>,
    /// Facts about the files; `None` if only their size is known.
    pub shared_places: Option<&'a dyn SharedPlaces>,
    /// Frames as bytes, where frames laid behind one another are a file.
    pub frame_copies: Option<&'a dyn FrameCopies>,
    /// The growth, if the frames so far are not all that there will be.
    pub growth: Option<&'a dyn Growth>,
    /// The check of the end, if files can be torn.
    pub end_check: Option<&'a dyn EndCheck>,
    /// Handling of damaged frames by readers.
    pub on_error: OnError,
    /// The file, if it is one.
    pub file: Option<&'a FileBytes>,
    /// Bytes that came through the network so far; `None` if none has to.
    pub n_fetched: Option<u64>,
    /// Integers per nm to which coordinates were rounded, of several the most; `None` where they were not.
    pub precision: Option<f32>,
    /// How many frames, counted from a multiple of that number, should rather not be split between blocks: they are
    /// stored in one piece.
    pub preferred_step: u64,
    /// Quantities that frames can have.
    pub quantities: Quantities,
}

impl<'a> Capabilities<'a> {
    /// The least that a source offers: positions that are there.
    pub const NONE: Self = Capabilities {
        segments: None,
        frame_offsets: None,
        byte_blocks: None,
        shared_places: None,
        frame_copies: None,
        growth: None,
        end_check: None,
        on_error: OnError::Raise,
        file: None,
        n_fetched: None,
        precision: None,
        preferred_step: 1,
        quantities: Quantities::POSITIONS,
    };

    /// The least that a source of one file offers.
    pub fn of_file(file: &'a FileBytes) -> Self {
        Capabilities { file: Some(file), n_fetched: file.n_fetched(), ..Capabilities::NONE }
    }
}

/// Several files that are read as one trajectory.
pub trait Segments {
    /// The number of the first frame behind each segment, in order; may have to locate them first.
    fn segment_ends(&self) -> Result<Vec<u64>>;

    /// The defect behind the last complete frame of each torn file, in order.
    fn damaged_ends(&self) -> Result<Vec<Damage>>;
}

/// Frames that stand in one piece.
pub trait FrameOffsets {
    /// Where a frame begins in its file; may have to locate the frames first.
    fn frame_offset(&self, frame: u64) -> Result<u64>;
}

/// Frames that can be found from anywhere in their file, so that one pass locates and reads them.
pub trait ByteBlocks {
    /// The ranges of bytes to cut into blocks, one for each file; `None` once the frames have been located.
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>>;

    /// Takes note of the frames located by all blocks of a whole pass, in order. Returns whether the parts join
    /// without a gap: if they do not, a block was misled by bytes that look like a frame, and the pass is void.
    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool>;
}

/// Facts about the files that one process has found and sends to the others.
pub trait SharedPlaces {
    /// Facts about each file, for other processes that read it.
    fn places(&self) -> Vec<Places>;

    /// Takes over the facts that another process has found, one entry per file, in order.
    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()>;

    /// Keeps the frame index for later runs, if the frames have been located and the format needs an index.
    fn keep_index(&self) {}
}

/// Frames whose bytes can be copied to another file.
pub trait FrameCopies {
    /// The format in which all frames stand alone, so that any of them laid behind one another are a file.
    fn stored_format(&self) -> Option<&'static str>;

    /// The bytes of consecutive frames; may have to locate them first.
    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>>;
}

/// Files that may end within a frame.
pub trait EndCheck {
    /// Checks that the last complete frame ends the file, so that a torn frame does not look like the end.
    fn check_end(&self) -> Result<()>;
}
