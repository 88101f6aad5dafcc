//! Frames that a consumer should have had, and has not.

use super::layout::Header;

/// Counts the frames that were overwritten, and those that the ring has never had, as a number says that is too high: a relay tells
/// in this way of frames that it could not get.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// How many.
    pub n: u64,
    /// The epoch and the number of the frame before.
    before: Option<(u64, u64)>,
}

impl Missed {
    /// Takes note of a frame, before which some were overwritten.
    pub(crate) fn count(&mut self, header: &Header, n_overwritten: u64) {
        let n_left_out = match self.before.replace((header.epoch, header.sequence)) {
            Some((epoch, sequence)) if epoch == header.epoch => {
                header.sequence.saturating_sub(sequence).saturating_sub(1)
            }
            _ => 0,
        };
        self.n += n_left_out.max(n_overwritten);
    }
}
