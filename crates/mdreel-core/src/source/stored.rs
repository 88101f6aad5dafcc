//! Positions of frames in storage.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::bytes::FileBytes;

/// Frames located while a block of bytes was read. The parts of neighbouring blocks must join: the first frame of a
/// part starts where the previous part ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LocatedFrames {
    /// The byte at which the first frame starts; `None` if no frame begins within the block.
    pub first: Option<u64>,
    /// The byte at which the last frame ends.
    pub end: u64,
    /// Start, step and time (ps) of each frame.
    pub frames: Vec<FrameLocation>,
}

/// The position, step and time of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrameLocation {
    /// Offset of the first byte of the frame.
    pub offset: u64,
    /// Integration step.
    pub step: i64,
    /// Time in ps.
    pub time: f64,
}

/// The bytes of frames in storage.
#[derive(Debug)]
pub struct StoredFrames<'a> {
    /// The name of their format.
    pub format: &'static str,
    /// The file that contains them.
    pub file: &'a FileBytes,
    /// The bytes from the start of the first frame to the end of the last one.
    pub bytes: Range<u64>,
    /// Number of frames.
    pub n_frames: u64,
}
