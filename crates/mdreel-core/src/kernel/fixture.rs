//! What tests of computations share: frames, and what a pass leaves of them.

use super::pass::Pass;
use super::{Computation, Kernel};
use crate::error::Result;
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::reduce::{Partial, Tally};
use crate::unit_cell::UnitCell;

/// Frames of as many atoms each, from number `first` on, 2 ps apart.
pub(crate) fn batch(first: u64, frames: &[Vec<[f32; 3]>], unit_cell: Option<UnitCell>) -> FrameBatch {
    let mut batch = FrameBatch::with_capacity(frames[0].len(), frames.len());
    for (index, frame) in (first..).zip(frames) {
        let (time, present) = (2.0 * index as f64, Quantities::POSITIONS);
        let columns = batch.push(FrameHeader { index, step: 0, time, unit_cell, lambda: None, present });
        for (i, [x, y, z]) in frame.iter().enumerate() {
            (columns.x[i], columns.y[i], columns.z[i]) = (*x, *y, *z);
        }
    }
    batch
}

/// What a computation of all atoms leaves of batches, each a block of its own, merged in this order.
pub(crate) fn mapped(computation: impl Computation + 'static, batches: &[FrameBatch]) -> Result<Tally> {
    let mut pass = Pass::of(computation);
    let mut whole = pass.empty();
    for batch in batches {
        let mut tally = pass.empty();
        pass.map(batch, &mut tally)?;
        whole.merge(tally);
    }
    Ok(whole)
}
