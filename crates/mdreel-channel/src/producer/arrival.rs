//! A frame that a relay is receiving.

use crate::layout::Arriving;

/// A frame that is coming, and the position of the slot that was claimed for it. Whoever does not go on with it loses nothing: the
/// next claim is of the same slot.
pub(super) struct Arrival {
    pub(super) frame: Arriving,
    pub(super) position: u64,
    /// The head of the ring when it was claimed: the claim holds until that has changed.
    pub(super) n_before: u64,
}
