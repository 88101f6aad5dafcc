//! A frame that a relay is receiving.

use crate::layout::Arriving;

/// A partially received frame, with the position of the slot that was claimed for it. The relay may drop it at any time: the next
/// claim returns the same slot.
pub(super) struct Arrival {
    pub(super) frame: Arriving,
    pub(super) position: u64,
    /// The head of the ring at the time of the claim. The claim holds until the head has changed.
    pub(super) n_before: u64,
}
