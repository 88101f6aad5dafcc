//! Helpers for tests of computations: frames, groups and results of a pass.

use std::sync::Arc;

use super::group::Group;
use super::pass::Pass;
use super::{Computation, Kernel};
use crate::error::Result;
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::reduce::{Partial, Tally};
use crate::selection::{Comparison, Expression, Selecting, Selection};
use crate::unit_cell::UnitCell;

/// Returns a batch of `frames`, numbered from `first` on, 2 ps apart. All frames have the same number of atoms.
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

/// Returns the result of a computation over all atoms. Each batch is a separate block; the blocks are merged in order.
pub(crate) fn mapped(computation: impl Computation + 'static, batches: &[FrameBatch]) -> Result<Tally> {
    let mut pass = Pass::of(computation);
    let mut whole = pass.empty();
    for batch in batches {
        let mut tally = pass.empty();
        let mapped = pass.map(batch, &mut tally);
        pass.complete(&mut tally);
        mapped?;
        whole.merge(tally);
    }
    Ok(whole)
}

/// Returns the result of a computation over all atoms, with all batches in a single block.
pub(crate) fn mapped_together(computation: impl Computation + 'static, batches: &[FrameBatch]) -> Result<Tally> {
    let mut pass = Pass::of(computation);
    let mut tally = pass.empty();
    let mapped = batches.iter().try_for_each(|batch| pass.map(batch, &mut tally));
    pass.complete(&mut tally);
    mapped.map(|()| tally)
}

/// Returns a group of the atoms in `places`, among `n_atoms` atoms, whose x coordinate is positive in the current frame.
pub(crate) fn right_of_origin(n_atoms: u32, places: &[u32]) -> Group {
    let (comparison, value) = (Comparison::Greater, 0.0);
    let expression = Expression::Coordinate { axis: 0, is_absolute: false, comparison, value };
    let selection = Arc::new(Selection::new(n_atoms as usize, expression).unwrap());
    let every: Vec<u32> = (0..n_atoms).collect();
    Group::changing(places.to_vec(), Selecting::new(selection, &every).unwrap(), places.to_vec()).unwrap()
}

/// Returns those of the atoms in `places` that `right_of_origin` selects in a frame.
pub(crate) fn those_right_of_origin(frame: &[[f32; 3]], places: &[u32]) -> Vec<u32> {
    places.iter().copied().filter(|&place| frame[place as usize][0] > 0.0).collect()
}
