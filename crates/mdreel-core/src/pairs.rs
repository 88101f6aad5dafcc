//! RMSD between all pairs of frames.

use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::{Reference, WeightedPoints};

/// Frames that are references side by side, so each other one is taken into the cache once for all of them.
const ROWS: usize = 8;
/// Other frames between two looks at the clock.
const OTHERS: usize = 256;

/// RMSD of each pair of frames, Å, n_frames x n_frames, row after row. `positions` are those of `n_atoms` atoms, frame
/// after frame, atom after atom, Å; they are weighted by `weights` (`None`: equal weights), and superposed or taken as
/// they are. On `n_workers` threads; the bits do not depend on how many. Returns an error if a coordinate is not
/// finite.
pub fn distance_matrix(
    positions: &[f32],
    n_atoms: usize,
    weights: Option<&[f64]>,
    superposition: bool,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<f64>> {
    let frames = frames_of(positions, n_atoms)?;
    let n = frames.len();
    let mut matrix = vec![0.0; n * n];
    let n_blocks = n.div_ceil(ROWS);
    let level = Level::detect();
    let make_worker = |_: usize| Ok(Comparer { frames: &frames, weights, superposition, level });
    let mut row = 0;
    run_blocks(0..n_blocks, Crew::on_demand(n_workers), make_worker, monitor, |block: Vec<Vec<f64>>| {
        for values in block {
            matrix[row * n..row * n + values.len()].copy_from_slice(&values);
            row += 1;
        }
        Ok(())
    })?;
    for i in 0..n {
        for j in 0..i {
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    Ok(matrix)
}

/// The positions as columns.
fn frames_of(positions: &[f32], n_atoms: usize) -> Result<FrameBatch> {
    if n_atoms == 0 || !positions.len().is_multiple_of(3 * n_atoms) {
        let got = positions.len();
        return Err(Error::mismatch(format!("{got} numbers are no frames of {n_atoms} atoms")));
    }
    let mut frames = FrameBatch::with_capacity(n_atoms, positions.len() / (3 * n_atoms));
    for (index, frame) in (0..).zip(positions.chunks_exact(3 * n_atoms)) {
        let present = Quantities::POSITIONS;
        let columns = frames.push(FrameHeader { index, step: 0, time: 0.0, unit_cell: None, lambda: None, present });
        for (i, [x, y, z]) in frame.as_chunks::<3>().0.iter().enumerate() {
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

    /// The frames before each of the frames of a block, in order: the lower triangle.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::rmsd::Rmsd;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_row_has_the_bits_of_the_rmsd_from_that_frame(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-30f32..30.0), 9), 1..30),
            superposition: bool, is_weighted: bool,
        ) {
            let weights: Vec<f64> = (1..10).map(f64::from).collect();
            let weights = is_weighted.then_some(&weights[..]);
            let positions = frames.concat().concat();
            let made = |n| distance_matrix(&positions, 9, weights, superposition, n, &mut Unattended).unwrap();
            let matrix = made(1);
            prop_assert_eq!(&made(3), &matrix);
            for (j, reference) in frames.iter().enumerate() {
                let reference: Vec<[f64; 3]> = reference.iter().map(|point| point.map(f64::from)).collect();
                let rmsd = Rmsd::new(&reference, weights, superposition).unwrap();
                let expected = mapped(rmsd, &[batch(0, &frames, None)]).unwrap().rows;
                for (i, expected) in expected.column(0).enumerate().take(j) {
                    prop_assert_eq!(matrix[j * frames.len() + i], expected);
                    prop_assert_eq!(matrix[i * frames.len() + j], expected);
                }
                prop_assert_eq!(matrix[j * frames.len() + j], 0.0);
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let mut positions = vec![1.0; 4 * 6];
        positions[13] = f32::NAN;
        for n_workers in [1, 3] {
            let found = distance_matrix(&positions, 2, None, true, n_workers, &mut Unattended).unwrap_err().to_string();
            assert!(found.contains("frame 2 of those compared: the reference is not finite: atom 0 of 2"), "{found}");
        }
        let message = distance_matrix(&positions, 7, None, true, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("24 numbers are no frames of 7 atoms"), "{message}");
    }
}
