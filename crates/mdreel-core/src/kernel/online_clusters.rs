//! Online clusters: each frame joins the nearest leader within a cutoff, or becomes the leader of a new cluster.
//!
//! This is the leader algorithm (J. A. Hartigan, Clustering Algorithms, Wiley, 1975) with the nearest leader. The result
//! depends on the order of the frames. Workers compute the distances of their frames from the leaders that they know at that
//! time. When partial results are merged, in order, frames are assigned to clusters. Only leaders that have been added in the
//! meantime are compared at this point. The labels therefore depend neither on the blocks nor on the workers.

mod assignment;
mod leaders;

use std::sync::Arc;

pub use assignment::{FoundClusters, OnlineAssignment};
use assignment::{Hints, WaitingFrames};
use leaders::{KnownLeaders, Metric, Search};

use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots, Value};
use crate::simd::Level;

/// Clusters of frames by their minimum RMSD from leaders. There are no values of single frames. The computation's own value is
/// an [`OnlineAssignment`].
#[derive(Debug, Clone)]
pub struct OnlineClusters {
    metric: Arc<Metric>,
    /// The leaders of the run so far, shared by the threads of a process.
    known: Arc<KnownLeaders>,
}

impl OnlineClusters {
    /// Creates the computation for `n_atoms` atoms, weighted by `weights` (`None`: equal weights). `cutoff` is the largest RMSD
    /// from a leader, in Å.
    ///
    /// Returns an error if there are no atoms, or if the weights or the cutoff are not valid.
    pub fn new(n_atoms: usize, weights: Option<&[f64]>, cutoff: f64) -> Result<Self> {
        OnlineClusters::at_level(n_atoms, weights, cutoff, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(n_atoms: usize, weights: Option<&[f64]>, cutoff: f64, level: Level) -> Result<Self> {
        if !(cutoff.is_finite() && cutoff >= 0.0) {
            return Err(Error::mismatch(format!("a cutoff of {cutoff} Å: expected a length")));
        }
        let metric = Arc::new(Metric::new(n_atoms, weights, cutoff, level)?);
        Ok(OnlineClusters { metric, known: Arc::default() })
    }
}

impl Computation for OnlineClusters {
    fn n_atoms(&self) -> usize {
        self.metric.n_atoms()
    }

    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(OnlineAssignment::new(Arc::clone(&self.metric), Arc::clone(&self.known))))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let leaders = self.known.all();
        let mut search = Search::default();
        let mut frames = Vec::with_capacity(batch.len());
        let mut nearest = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            let octets = batch.octets(i);
            if !octets.iter().flat_map(|column| column.as_flattened()).fold(true, |all, x| all & x.is_finite()) {
                return Err(not_finite(batch, i, "positions"));
            }
            nearest.push(search.nearest(&self.metric, &leaders, 0, None, octets));
            frames.extend(octets.into_iter().flatten());
        }
        let assignment = slots.own.as_mut().and_then(|own| own.here::<OnlineAssignment>());
        let assignment = assignment.ok_or_else(|| Error::worker("online clusters have no room for their frames"))?;
        assignment.add(WaitingFrames { frames, hints: Hints::new(&leaders, nearest) });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
