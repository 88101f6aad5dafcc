//! Kernels: the computations that turn frames into partial results.

pub mod check;
pub mod rmsd;

use crate::error::Result;
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::Partial;

/// A computation over frames. It says which atoms it needs before anything is read.
pub trait Kernel: Sync {
    /// What a block of frames becomes.
    type Partial: Partial;

    /// Atoms in each frame that the kernel is given.
    fn n_atoms(&self) -> usize;

    /// What the kernel wants of each atom, where the trajectory has it.
    fn quantities(&self) -> Quantities {
        Quantities::POSITIONS
    }

    /// What of that every frame must have.
    fn needs(&self) -> Quantities {
        self.quantities()
    }

    /// The partial result of no frames.
    fn empty(&self) -> Self::Partial;

    /// Adds the frames of `batch` to `partial`, which must not depend on how the frames of a block are cut into batches:
    /// storage decides that, and of a file that grows, when they come.
    fn map(&self, batch: &FrameBatch, partial: &mut Self::Partial) -> Result<()>;
}
