//! Start and end of frames in storage.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::bytes::FileBytes;

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
