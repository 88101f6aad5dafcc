//! Growth: frames that come while others are read.

use std::time::Duration;

use crate::error::Result;

/// What is known of the frames of a source that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Frames that are there.
    pub n_frames: u64,
    /// Whether no more will come.
    pub is_ended: bool,
}

impl Arrival {
    /// Whether nobody needs to wait for `frame` any more.
    pub fn settles(self, frame: u64) -> bool {
        frame < self.n_frames || self.is_ended
    }
}

/// A source that grows while it is read. Frames that are there stay as they are, until nobody wants them any more.
pub trait Growth: Sync {
    /// Waits until `frame` is there, the end has come or `at_most` has passed, whatever is first.
    ///
    /// # Errors
    /// What keeps `frame` from ever coming: the source was lost or damaged. Frames that came before stay readable.
    fn await_frame(&self, frame: u64, at_most: Duration) -> Result<Arrival>;

    /// Takes note that from now on only every `step`-th frame from `first` on is wanted. What keeps frames itself need not keep
    /// the others.
    fn want(&self, _first: u64, _step: u64) {}

    /// Takes note that nobody will ask for frames before `frame` any more.
    fn release(&self, _frame: u64) {}

    /// Refuses a frame that cannot come as long as all frames before it are kept.
    fn check_reach(&self, _frame: u64) -> Result<()> {
        Ok(())
    }
}
