//! Distances from all atoms of one group to all atoms of another, or to fixed points, in every frame.

use std::sync::Arc;

use super::images::Shortest;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Distance (Å) up to which distances are added up in integer steps of 64 bits.
const NEAR: f64 = 2048.0;
/// Number of fractional bits of distances.
const FRACTION: u32 = 36;
/// Number of fractional bits of squares of distances.
const SQUARE_FRACTION: u32 = 27;
/// Largest number of frames whose steps are guaranteed to add up in 64 bits.
const MOST_FRAMES: usize = 1 << 12;

/// Targets of the distances.
#[derive(Debug, Clone)]
pub enum Other {
    /// Atoms of the same frame.
    Atoms(Vec<u32>),
    /// Fixed points, in Å.
    Points(Vec<[f64; 3]>),
}

/// Results of the distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keep {
    /// Each distance of every frame.
    All,
    /// For each pair, the sum over frames, the sum of squares, and the number of frames in which the distance is below this
    /// value (Å).
    Statistics(f64),
}

/// Distances from each of some atoms to each of others, in Å. All distances of the first atom come first, then those of the
/// next.
#[derive(Debug, Clone)]
pub struct Distances {
    n_atoms: usize,
    from: Arc<Vec<u32>>,
    to: Arc<Other>,
    shortest: Shortest,
    keep: Keep,
    level: Level,
    memory: Memory,
}

/// Working memory for frames.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// x, y and z of the targets.
    to: [Vec<f64>; 3],
    row: Vec<f64>,
    /// Sums of distances and of their squares over a batch, in steps.
    steps: [Vec<i64>; 2],
    counts: Vec<u64>,
}

impl Distances {
    /// Creates the computation of distances from atoms among `n_atoms` atoms to others, or to the images that `shortest`
    /// selects.
    ///
    /// Returns an error if there are no atoms or no targets, or an atom does not exist.
    pub fn new(n_atoms: usize, from: Vec<u32>, to: Other, shortest: Shortest, keep: Keep) -> Result<Self> {
        let level = Level::detect();
        let of_frame = match &to {
            Other::Atoms(atoms) => atoms.as_slice(),
            Other::Points(_) => &[],
        };
        if let Some(atom) = from.iter().chain(of_frame).find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a distance needs atom {atom} of {n_atoms}")));
        }
        let computation = Distances {
            n_atoms,
            from: Arc::new(from),
            to: Arc::new(to),
            shortest,
            keep,
            level,
            memory: Memory::default(),
        };
        if computation.n_pairs() == 0 {
            return Err(Error::mismatch("there are no distances: a group has no atoms"));
        }
        Ok(computation)
    }

    fn n_to(&self) -> usize {
        match &*self.to {
            Other::Atoms(atoms) => atoms.len(),
            Other::Points(points) => points.len(),
        }
    }

    fn n_pairs(&self) -> usize {
        self.from.len() * self.n_to()
    }

    /// Copies the coordinates of the targets in the i-th frame to the working memory.
    fn place(&mut self, batch: &FrameBatch, i: usize) {
        let columns = batch.columns(i);
        for (k, (place, column)) in self.memory.to.iter_mut().zip([columns.x, columns.y, columns.z]).enumerate() {
            place.clear();
            match &*self.to {
                Other::Atoms(atoms) => place.extend(atoms.iter().map(|&atom| f64::from(column[atom as usize]))),
                Other::Points(points) => place.extend(points.iter().map(|point| point[k])),
            }
        }
    }

    /// Calls `take` with the distances of each atom in the i-th frame, one atom after another.
    fn each_row(
        &mut self,
        batch: &FrameBatch,
        i: usize,
        mut take: impl FnMut(usize, &[f64], &mut Memory) -> Result<()>,
    ) -> Result<()> {
        self.place(batch, i);
        let cell = self.shortest.of(batch, i)?;
        let columns = batch.columns(i);
        let mut row = std::mem::take(&mut self.memory.row);
        row.resize(self.n_to(), 0.0);
        for (k, &atom) in self.from.iter().enumerate() {
            let from = [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom as usize]));
            if !self.level.run(MapRow { from, to: &self.memory.to, cell, row: &mut row }) {
                return Err(not_finite(batch, i, "distances"));
            }
            take(k, &row, &mut self.memory)?;
        }
        self.memory.row = row;
        Ok(())
    }

    fn map_all(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let n_to = self.n_to();
        for i in 0..batch.len() {
            let values = slots.row(i);
            self.each_row(batch, i, |k, row, _| {
                values[k * n_to..][..n_to].copy_from_slice(row);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn add_up(&mut self, batch: &FrameBatch, cutoff: f64, slots: &mut Slots<'_>) -> Result<()> {
        let (n_to, n_pairs, level) = (self.n_to(), self.n_pairs(), self.level);
        for first in (0..batch.len()).step_by(MOST_FRAMES) {
            for steps in &mut self.memory.steps {
                steps.clear();
                steps.resize(n_pairs, 0);
            }
            self.memory.counts.clear();
            self.memory.counts.resize(n_pairs, 0);
            for i in first..batch.len().min(first + MOST_FRAMES) {
                let frame = batch.header(i).index;
                self.each_row(batch, i, |k, row, memory| {
                    let place = k * n_to..(k + 1) * n_to;
                    let [sums, squares] = memory.steps.each_mut().map(|steps| &mut steps[place.clone()]);
                    let add = AddRow { row, cutoff, sums, squares, counts: &mut memory.counts[place.clone()] };
                    if level.run(add) { Ok(()) } else { add_far(row, frame, place.start, slots.sums) }
                })?;
            }
            let pairs = slots.sums.as_chunks_mut::<2>().0.iter_mut().zip(slots.counts.iter_mut());
            for (pair, ([sum, square], count)) in pairs.enumerate() {
                *sum += Sum::of_steps(self.memory.steps[0][pair], FRACTION);
                *square += Sum::of_steps(self.memory.steps[1][pair], SQUARE_FRACTION);
                *count += self.memory.counts[pair];
            }
        }
        Ok(())
    }
}

impl Computation for Distances {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        match self.keep {
            Keep::All => Layout::columns(self.n_pairs()),
            Keep::Statistics(_) => {
                let n_pairs = self.n_pairs();
                Layout { n_sums: 2 * n_pairs, n_counts: n_pairs, ..Layout::default() }
            }
        }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(Distances { memory: Memory::default(), from: self.from.clone(), to: self.to.clone(), ..*self })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        match self.keep {
            Keep::All => self.map_all(batch, slots),
            Keep::Statistics(cutoff) => self.add_up(batch, cutoff, slots),
        }
    }
}

/// Adds the distances of one atom to the sums one by one, because some of them are long.
#[cold]
fn add_far(row: &[f64], frame: u64, first: usize, sums: &mut [Sum]) -> Result<()> {
    for (pair, distance) in (first..).zip(row) {
        let square = distance * distance;
        if square > Sum::MOST {
            return Err(
                Error::mismatch(format!("a distance is {distance} Å: expected 262 144 Å at most")).at_frame(frame)
            );
        }
        sums[2 * pair] += Sum::of(*distance);
        sums[2 * pair + 1] += Sum::of(square);
    }
    Ok(())
}

/// Operation that computes the distances of one atom and returns whether all are finite.
struct MapRow<'a> {
    from: [f64; 3],
    to: &'a [Vec<f64>; 3],
    cell: Option<Periodic>,
    row: &'a mut [f64],
}

impl Operation for MapRow<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let MapRow { from, to: [to_x, to_y, to_z], cell, row } = self;
        let to = to_x.iter().zip(to_y).zip(to_z);
        let mut is_finite = true;
        match cell.map(|cell| (cell, cell.lengths())) {
            None => {
                for (distance, ((x, y), z)) in row.iter_mut().zip(to) {
                    let d = [x - from[0], y - from[1], z - from[2]];
                    *distance = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    is_finite &= distance.is_finite();
                }
            }
            Some((_, Some(lengths))) => {
                for (distance, ((x, y), z)) in row.iter_mut().zip(to) {
                    let mut d = [x - from[0], y - from[1], z - from[2]];
                    for k in 0..3 {
                        d[k] -= lengths[k] * (d[k] / lengths[k]).round_ties_even();
                    }
                    *distance = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    is_finite &= distance.is_finite();
                }
            }
            Some((cell, None)) => {
                for (distance, ((x, y), z)) in row.iter_mut().zip(to) {
                    let d = cell.shortest([x - from[0], y - from[1], z - from[2]]);
                    *distance = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    is_finite &= distance.is_finite();
                }
            }
        }
        is_finite
    }
}

/// Operation that adds the distances of one atom and returns whether it could add them to the sums, which requires that all are
/// short. It adds to the counts in any case.
struct AddRow<'a> {
    row: &'a [f64],
    cutoff: f64,
    sums: &'a mut [i64],
    squares: &'a mut [i64],
    counts: &'a mut [u64],
}

impl Operation for AddRow<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let AddRow { row, cutoff, sums, squares, counts } = self;
        for (distance, count) in row.iter().zip(counts) {
            *count += u64::from(*distance < cutoff);
        }
        if !row.iter().fold(true, |near, distance| near & (*distance <= NEAR)) {
            return false;
        }
        for ((distance, sum), square) in row.iter().zip(sums).zip(squares) {
            *sum += Sum::steps(*distance, FRACTION);
            *square += Sum::steps(distance * distance, SQUARE_FRACTION);
        }
        true
    }
}

#[cfg(test)]
mod tests;
