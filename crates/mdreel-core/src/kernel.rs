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

/// What is done with frames. It says which atoms it needs before anything is read. Each worker has a clone.
pub trait Kernel: Clone + Send + Sync {
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

    /// Adds the frames of `batch` to `partial`, which must not depend on how the frames of a block are cut into
    /// batches: storage decides that, and of a file that grows, when they come.
    fn map(&mut self, batch: &FrameBatch, partial: &mut Self::Partial) -> Result<()>;

    /// Adds frames to `partial` that `map` has stored without adding them, and returns whether there were any. It is called
    /// after the last frame of a block, also if mapping failed.
    fn complete(&mut self, _partial: &mut Self::Partial) -> bool {
        false
    }
}

/// One of the computations of a [`pass::Pass`]: an analysis, as far as it looks at frames.
///
/// What it leaves must not depend on the blocks into which frames are cut, nor on their order: values of single frames,
/// sums that are exact ([`crate::reduce::Sum`]), counts, and records ([`crate::reduce::Records`]).
pub trait Computation: Send + Sync {
    /// Atoms in each frame that it is given.
    fn n_atoms(&self) -> usize;

    /// What it wants of each atom, which every frame must have.
    fn quantities(&self) -> Quantities {
        Quantities::POSITIONS
    }

    /// How much room it needs for what it leaves.
    fn layout(&self) -> Layout;

    /// What it leaves that only it understands, of no frames yet; `None` if there is no such thing.
    fn own(&self) -> Option<Box<dyn Value>> {
        None
    }

    /// Itself for another worker: what is written meanwhile is not shared.
    fn another(&self) -> Box<dyn Computation>;

    /// Looks at frames and leaves what it finds.
    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()>;

    /// Adds frames to `slots` that `map` has stored because many frames together cost less, and returns whether there were
    /// any. It is called after the last frame of a block, also if mapping failed. The slots have no rows.
    fn complete(&mut self, _slots: &mut Slots<'_>) -> bool {
        false
    }
}

/// The error that names the first atom of the i-th frame of `batch` that has no finite coordinates, or says that `what`
/// is not finite.
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
