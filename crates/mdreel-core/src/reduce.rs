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

/// The partial result of a block of frames.
pub trait Partial: Send {
    /// Returns the number of frames in the partial result.
    fn n_frames(&self) -> u64;

    /// Reserves memory for `n_frames` more frames, if the size of the result depends on the number of frames.
    fn reserve(&mut self, _n_frames: u64) {}

    /// Marks this partial result as the one that begins with the first frame of a run. All other partial results will
    /// be merged into it in order.
    fn begin(&mut self) {}

    /// Adds the partial result of the frames that follow.
    fn merge(&mut self, next: Self);

    /// Adds `first` to every frame number. Blocks need this if the number of frames before them was unknown.
    fn renumber(&mut self, first: u64);
}
