//! Growing sources: new frames arrive while others are read.

use std::time::Duration;

use crate::error::Result;

/// The known frames of a growing source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Number of existing frames.
    pub n_frames: u64,
    /// Whether no more frames will come.
    pub is_ended: bool,
}

impl Arrival {
    /// Returns whether waiting for `frame` has ended.
    pub fn settles(self, frame: u64) -> bool {
        frame < self.n_frames || self.is_ended
    }
}

/// A source that grows while it is read. Existing frames do not change until they are released.
pub trait Growth: Sync {
    /// Waits until `frame` exists, the end is reached or `at_most` has passed, whichever happens first.
    ///
    /// # Errors
    /// Returns the reason why `frame` will never arrive: the source was lost or damaged. Earlier frames remain readable.
    fn await_frame(&self, frame: u64, at_most: Duration) -> Result<Arrival>;

    /// Announces that from now on only every `step`-th frame from `first` on is selected. A source that stores frames
    /// itself need not keep the others.
    fn want(&self, _first: u64, _step: u64) {}

    /// Announces that frames before `frame` will not be requested again.
    fn release(&self, _frame: u64) {}

    /// Returns an error if the frame cannot arrive as long as all frames before it are kept.
    fn check_reach(&self, _frame: u64) -> Result<()> {
        Ok(())
    }
}
