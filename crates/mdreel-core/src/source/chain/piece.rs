//! Parts of a block that lie within one segment of a chain.

use crate::block::Extent;

/// The part of a block that lies within one segment. Its frames or bytes are counted from the start of the segment.
pub(crate) struct Piece {
    pub segment: usize,
    pub extent: Extent,
    /// The chain's number of the segment's first frame; `None` if frames are counted from the beginning of the block.
    pub first_frame: Option<u64>,
}
