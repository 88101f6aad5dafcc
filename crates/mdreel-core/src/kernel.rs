//! Kernels: the computations that turn frames into partial results.

pub mod bins;
pub mod check;
mod chosen;
pub mod contacts;
pub mod covariance;
pub mod cross_correlation;
pub mod density;
pub mod dihedrals;
pub mod displacement;
pub mod distances;
pub mod dssp;
pub(crate) mod each_frame;
pub mod end_to_end;
pub mod fingerprint;
pub mod fit;
#[cfg(test)]
pub(crate) mod fixture;
pub mod fluctuation;
pub mod group;
pub mod group_rmsd;
pub mod gyration;
pub mod helices;
pub mod hydrogen_bonds;
pub(crate) mod images;
pub mod linear_density;
pub mod local_distances;
mod moved;
pub mod online_clusters;
pub(crate) mod pairs;
mod panels;
pub mod pass;
pub mod positions;
pub mod projection;
pub mod radial_distribution;
pub mod repeated;
pub mod residue_contacts;
pub mod rmsd;
pub mod selected;
pub mod selected_vectors;
pub mod site_distribution;
pub mod surface;
pub mod symmetric_rmsd;
pub mod template_scores;
pub mod water_bridges;

use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Partial, Slots, Value};

/// An analysis of frames. It declares the atoms that it needs before anything is read. Each worker has its own clone.
pub trait Kernel: Clone + Send + Sync {
    /// The partial result of a block of frames.
    type Partial: Partial;

    /// Returns the number of atoms in each frame that the kernel receives.
    fn n_atoms(&self) -> usize;

    /// Returns the quantities that the kernel uses, where the trajectory has them.
    fn quantities(&self) -> Quantities {
        Quantities::POSITIONS
    }

    /// Returns the quantities that every frame must have, a subset of `quantities`.
    fn needs(&self) -> Quantities {
        self.quantities()
    }

    /// Returns the partial result of no frames.
    fn empty(&self) -> Self::Partial;

    /// Adds the frames of `batch` to `partial`.
    ///
    /// The result must not depend on how the frames of a block are divided into batches. The storage determines the batches,
    /// and for a file that is still growing, so does the time at which frames arrive.
    fn map(&mut self, batch: &FrameBatch, partial: &mut Self::Partial) -> Result<()>;

    /// Adds to `partial` the frames that `map` has only stored so far, and returns whether there were any.
    ///
    /// This method is called after the last frame of a block, also if `map` failed.
    fn complete(&mut self, _partial: &mut Self::Partial) -> bool {
        false
    }
}

/// A computation of a [`pass::Pass`]: the part of an analysis that processes frames.
///
/// Its results must not depend on the blocks into which the frames are divided, nor on the order of the blocks. Suitable
/// results are values of single frames, exact sums ([`crate::reduce::Sum`]), counts and records ([`crate::reduce::Records`]).
pub trait Computation: Send + Sync {
    /// Returns the number of atoms in each frame that the computation receives.
    fn n_atoms(&self) -> usize;

    /// Returns the quantities that the computation uses and that every frame must have.
    fn quantities(&self) -> Quantities {
        Quantities::POSITIONS
    }

    /// Returns the space that the results of the computation need.
    fn layout(&self) -> Layout;

    /// Returns the initial value, for no frames, of the result that only this computation can interpret; `None` if it has no
    /// such result.
    fn own(&self) -> Option<Box<dyn Value>> {
        None
    }

    /// Returns a copy of the computation for another worker. The copy shares no mutable state with the original.
    fn another(&self) -> Box<dyn Computation>;

    /// Processes the frames of `batch` and writes the results to `slots`.
    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()>;

    /// Adds to `slots` the frames that `map` has only stored so far, and returns whether there were any.
    ///
    /// A computation stores frames if it is cheaper to process many frames together. This method is called after the last frame
    /// of a block, also if `map` failed. The slots have no rows.
    fn complete(&mut self, _slots: &mut Slots<'_>) -> bool {
        false
    }
}

/// Returns the error for a non-finite result in the i-th frame of `batch`.
///
/// The error names the first atom without finite coordinates. If all coordinates are finite, it reports that `what` is too
/// large.
#[cold]
pub(crate) fn not_finite(batch: &FrameBatch, i: usize, what: &str) -> Error {
    let columns = batch.columns(i);
    let positions = columns.x.iter().zip(columns.y).zip(columns.z).map(|((x, y), z)| [*x, *y, *z]);
    let n_atoms = batch.n_atoms();
    let found = positions.enumerate().find(|(_, position)| position.iter().any(|value| !value.is_finite()));
    let message = match found {
        Some((atom, position)) => {
            format!("atom {atom} of the {n_atoms} selected is at {position:?}: expected finite coordinates")
        }
        None => format!("the {what} of the {n_atoms} selected atoms is too large for a float64"),
    };
    Error::mismatch(message).at_frame(batch.header(i).index)
}
