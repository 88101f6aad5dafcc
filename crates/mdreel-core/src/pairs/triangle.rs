//! A symmetric matrix, stored as the part below its diagonal.

use super::compare::compare;
use crate::error::Result;
use crate::frame::FrameBatch;
use crate::pool::Monitor;

/// The lower triangle of a symmetric matrix in row order, which needs half the memory of the matrix.
pub(super) struct Triangle(Vec<f64>);

impl Triangle {
    /// Computes the minimum RMSD of all pairs of frames, Å.
    pub(super) fn of_frames(
        frames: &FrameBatch,
        weights: Option<&[f64]>,
        n_workers: usize,
        monitor: &mut dyn Monitor,
    ) -> Result<Self> {
        let n = frames.len();
        let mut values = Vec::with_capacity(n * n.saturating_sub(1) / 2);
        compare(frames, weights, true, n_workers, monitor, |_, row| values.extend_from_slice(row))?;
        Ok(Triangle(values))
    }

    /// Returns the value for two different rows.
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.0[place(i, j)]
    }

    /// Sets the value for two different rows.
    pub(super) fn set(&mut self, i: usize, j: usize, value: f64) {
        self.0[place(i, j)] = value;
    }
}

fn place(i: usize, j: usize) -> usize {
    let (earlier, later) = (i.min(j), i.max(j));
    later * later.saturating_sub(1) / 2 + earlier
}
