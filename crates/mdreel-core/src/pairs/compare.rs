//! Comparison of all pairs of frames on several threads.

use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::{Reference, WeightedPoints};

/// Number of frames that are references side by side. Each other frame is then loaded into the cache once for all of
/// them.
const ROWS: usize = 8;
/// Number of other frames between two calls of `tick`.
const OTHERS: usize = 256;

/// Computes the RMSD of each frame to all frames before it. Calls `merge` with the number of each frame and its values,
/// in frame order.
pub(super) fn compare(
    frames: &FrameBatch,
    weights: Option<&[f64]>,
    superposition: bool,
    n_workers: usize,
    monitor: &mut dyn Monitor,
    mut merge: impl FnMut(usize, &[f64]),
) -> Result<()> {
    let level = Level::detect();
    let make_worker = |_: usize| Ok(Comparer { frames, weights, superposition, level });
    let n_blocks = frames.len().div_ceil(ROWS);
    let mut row = 0;
    run_blocks(0..n_blocks, Crew::on_demand(n_workers), make_worker, monitor, |block: Vec<Vec<f64>>| {
        for values in block {
            merge(row, &values);
            row += 1;
        }
        Ok(())
    })?;
    Ok(())
}

/// Creates frames from rows that contain x, y and z of one atom after another. The function ignores numbers after those
/// of the last atom.
pub(super) fn frames_of<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, n_atoms: usize) -> Result<FrameBatch> {
    let mut frames = FrameBatch::with_capacity(n_atoms, rows.len());
    for (index, row) in (0..).zip(rows) {
        let Some(points) = row.get(..3 * n_atoms) else {
            return Err(Error::mismatch(format!("{} numbers are no positions of {n_atoms} atoms", row.len())));
        };
        let present = Quantities::POSITIONS;
        let columns = frames.push(FrameHeader { index, step: 0, time: 0.0, unit_cell: None, lambda: None, present });
        for (i, [x, y, z]) in points.as_chunks::<3>().0.iter().enumerate() {
            (columns.x[i], columns.y[i], columns.z[i]) = (*x, *y, *z);
        }
    }
    Ok(frames)
}

struct Comparer<'a> {
    frames: &'a FrameBatch,
    weights: Option<&'a [f64]>,
    superposition: bool,
    level: Level,
}

enum Row {
    Superposed(Reference),
    AsIs(WeightedPoints),
}

impl Comparer<'_> {
    fn row(&self, i: usize) -> Result<Row> {
        let columns = self.frames.columns(i);
        let points = columns.x.iter().zip(columns.y).zip(columns.z);
        let points: Vec<[f64; 3]> = points.map(|((x, y), z)| [*x, *y, *z].map(f64::from)).collect();
        let named = |error| Error::mismatch(format!("frame {i} of those compared: {error}"));
        if self.superposition {
            Reference::new(&points, self.weights, self.level).map(Row::Superposed).map_err(named)
        } else {
            WeightedPoints::new(&points, self.weights).map(Row::AsIs).map_err(named)
        }
    }
}

impl Worker for Comparer<'_> {
    type Output = Vec<Vec<f64>>;

    /// Returns the RMSDs of each frame of a block to all frames before it, in order. They are rows of the lower
    /// triangle.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let numbers = block * ROWS..self.frames.len().min((block + 1) * ROWS);
        let references = numbers.clone().map(|i| self.row(i)).collect::<Result<Vec<_>>>()?;
        let mut rows: Vec<Vec<f64>> = numbers.clone().map(Vec::with_capacity).collect();
        for first in (0..numbers.end).step_by(OTHERS) {
            tick();
            if !shared.wanted(block) {
                break;
            }
            let others = first..numbers.end.min(first + OTHERS);
            let compare = Compare { frames: self.frames, references: &references, first: numbers.start, others };
            self.level.run(CompareInto(compare, &mut rows))?;
        }
        shared.add_frames(numbers.len());
        Ok(rows)
    }
}

struct Compare<'a> {
    frames: &'a FrameBatch,
    references: &'a [Row],
    /// Number of the first reference.
    first: usize,
    others: std::ops::Range<usize>,
}

struct CompareInto<'a>(Compare<'a>, &'a mut [Vec<f64>]);

impl Operation for CompareInto<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let CompareInto(Compare { frames, references, first, others }, rows) = self;
        for other in others {
            let octets = frames.octets(other);
            for (i, (row, reference)) in rows.iter_mut().zip(references).enumerate() {
                if other >= first + i {
                    continue;
                }
                let value = match reference {
                    Row::Superposed(reference) => reference.minimum_rmsd::<L>(octets).unwrap_or(f64::NAN),
                    Row::AsIs(points) => points.rmsd::<L>(octets),
                };
                if !value.is_finite() {
                    let message = "is not finite, or too large for a float64";
                    return Err(Error::mismatch(format!("frame {other} of those compared {message}")));
                }
                row.push(value);
            }
        }
        Ok(())
    }
}
