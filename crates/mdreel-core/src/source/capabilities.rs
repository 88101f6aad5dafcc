//! Capabilities of a source in addition to reading frames.

use std::ops::Range;

use super::bytes::FileBytes;
use super::damage::{Damage, OnError};
use super::growth::Growth;
use super::places::Places;
use super::stored::{LocatedFrames, StoredFrames};
use crate::error::Result;
use crate::frame::Quantities;

/// All that a source offers besides reading frames. Code queries the capabilities once per pass, worker or block, never
/// for each frame.
///
/// The source of a format names what it has and takes the rest from [`Capabilities::NONE`] or
/// [`Capabilities::of_file`]. A source that wraps others lists every field, so a new capability does not compile until
/// each wrapper decides about it.
pub struct Capabilities<'a> {
    /// The files, if there are several.
    pub segments: Option<&'a dyn Segments>,
    /// The positions of frames, if each frame is contiguous in one file.
    pub frame_offsets: Option<&'a dyn FrameOffsets>,
    /// Reading by ranges of bytes, if frames can be found from anywhere in a file.
    pub byte_blocks: Option<&'a dyn ByteBlocks>,
    /// Facts about the files; `None` if only their size is known.
    pub shared_places: Option<&'a dyn SharedPlaces>,
    /// Frames as bytes, if any frames written one after another form a valid file.
    pub frame_copies: Option<&'a dyn FrameCopies>,
    /// The growth, if more frames may come.
    pub growth: Option<&'a dyn Growth>,
    /// The check of the end, if files can be torn.
    pub end_check: Option<&'a dyn EndCheck>,
    /// Handling of damaged frames by readers.
    pub on_error: OnError,
    /// The file, if the source consists of a single file.
    pub file: Option<&'a FileBytes>,
    /// Number of bytes received through the network so far; `None` if the source needs no network.
    pub n_fetched: Option<u64>,
    /// Precision to which coordinates were rounded, in integers per nm. Of several values, it is the largest. `None` if
    /// coordinates were not rounded.
    pub precision: Option<f32>,
    /// Number of consecutive frames that are stored in one piece, starting at a multiple of this number. Blocks should
    /// not split them.
    pub preferred_step: u64,
    /// The quantities that frames can have.
    pub quantities: Quantities,
}

impl<'a> Capabilities<'a> {
    /// The minimum that a source offers: positions of a fixed set of frames.
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

    /// Returns the minimum that a source of one file offers.
    pub fn of_file(file: &'a FileBytes) -> Self {
        Capabilities { file: Some(file), n_fetched: file.n_fetched(), ..Capabilities::NONE }
    }
}

/// Several files that are read as one trajectory.
pub trait Segments {
    /// Returns the number of the first frame after each segment, in order. The source may have to locate the frames
    /// first.
    fn segment_ends(&self) -> Result<Vec<u64>>;

    /// Returns the defect after the last complete frame of each torn file, in order.
    fn damaged_ends(&self) -> Result<Vec<Damage>>;
}

/// Frames that are contiguous in a file.
pub trait FrameOffsets {
    /// Returns the byte at which a frame starts in its file. The source may have to locate the frames first.
    fn frame_offset(&self, frame: u64) -> Result<u64>;
}

/// Frames that can be found from anywhere in their file, so that one pass locates and reads them.
pub trait ByteBlocks {
    /// Returns the ranges of bytes to divide into blocks, one per file. Returns `None` once the frames have been
    /// located.
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>>;

    /// Records the frames that all blocks of a whole pass have located, in order. Returns whether the parts join
    /// without a gap. If they do not, bytes that look like a frame misled a block, and the pass is void.
    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool>;
}

/// Facts about the files that one process has found and sends to the others.
pub trait SharedPlaces {
    /// Returns facts about each file, for other processes that read it.
    fn places(&self) -> Vec<Places>;

    /// Takes over the facts that another process has found, one entry per file, in order.
    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()>;

    /// Keeps the frame index for later runs, if the frames have been located and the format needs an index.
    fn keep_index(&self) {}
}

/// Frames whose bytes can be copied to another file.
pub trait FrameCopies {
    /// Returns the format if each frame is self-contained. In that case, any frames written one after another form a
    /// valid file.
    fn stored_format(&self) -> Option<&'static str>;

    /// Returns the bytes of consecutive frames. The source may have to locate the frames first.
    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>>;
}

/// Files that may end within a frame.
pub trait EndCheck {
    /// Checks that the file ends with its last complete frame. Otherwise a torn frame would look like the end.
    fn check_end(&self) -> Result<()>;
}
