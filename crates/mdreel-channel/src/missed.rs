//! The frames that a consumer should have received but has not.

use super::epochs;
use super::layout::Header;
use super::ring_file::RingHead;

/// Counts the frames that were overwritten, and those that were never in the ring. A gap in the frame numbers shows the latter: a
/// relay leaves such a gap for frames that it could not get.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// The number of missed frames.
    pub n: u64,
    /// The number of the previous frame.
    before: Option<u64>,
}

impl Missed {
    /// Counts the frames missed before the frame with this header. `n_overwritten` of them were overwritten.
    pub(crate) fn count(&mut self, head: &RingHead, header: &Header, n_overwritten: u64) {
        let n_left_out = match self.before.replace(header.sequence) {
            Some(before) => epochs::n_missing(head, before.saturating_add(1), header.sequence),
            None => 0,
        };
        self.n += n_left_out.max(n_overwritten);
    }
}
