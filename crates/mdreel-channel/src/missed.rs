//! Frames that a consumer should have had, and has not.

use super::epochs;
use super::layout::Header;
use super::ring_file::RingHead;

/// Counts the frames that were overwritten, and those that the ring has never had, as a number says that is too high: a relay tells
/// in this way of frames that it could not get.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// How many.
    pub n: u64,
    /// The number of the frame before.
    before: Option<u64>,
}

impl Missed {
    /// Takes note of a frame, before which some were overwritten.
    pub(crate) fn count(&mut self, head: &RingHead, header: &Header, n_overwritten: u64) {
        let n_left_out = match self.before.replace(header.sequence) {
            Some(before) => epochs::n_missing(head, before.saturating_add(1), header.sequence),
            None => 0,
        };
        self.n += n_left_out.max(n_overwritten);
    }
}
