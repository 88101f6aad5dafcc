//! The part of a block that lies within one segment of a chain.

use crate::block::Extent;

/// The part of a block that lies within one segment, in the segment's own numbers.
pub(crate) struct Piece {
    pub segment: usize,
    pub extent: Extent,
    /// The number of the segment's first frame; `None` where frames are counted from the block's beginning.
    pub first_frame: Option<u64>,
}
