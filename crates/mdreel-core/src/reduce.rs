//! Partial results and their merging. Merging is associative and happens in block order, so the bits of a result do not
//! depend on the workers.

mod ids;
mod own;
mod records;
mod rows;
mod sum;
mod tally;

pub use ids::Ids;
pub use own::{Own, Value};
pub use records::Records;
pub use rows::Rows;
pub use sum::Sum;
pub use tally::{Layout, Slots, Tally};

/// Partial result of a block of frames.
pub trait Partial: Send {
    /// Number of frames in it.
    fn n_frames(&self) -> u64;

    /// Makes room for `n_frames` more frames, where the result grows with them.
    fn reserve(&mut self, _n_frames: u64) {}

    /// Is told that it begins with the first frame of a run, and that all others will be merged into it in order.
    fn begin(&mut self) {}

    /// Adds the partial result of the frames that follow.
    fn merge(&mut self, next: Self);

    /// Adds `first` to every frame number: for blocks that did not know how many frames come before them.
    fn renumber(&mut self, first: u64);
}
