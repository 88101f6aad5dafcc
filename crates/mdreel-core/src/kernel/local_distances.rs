//! Local distance difference test (lDDT): the fraction of the distances of a reference that each frame preserves.

use std::sync::Arc;

use super::contacts::check_radius;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch};
use crate::neighbours::{Neighbours, Run, Visit};
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};

/// Differences up to which a distance counts as preserved, in Å (V. Mariani and others, Bioinformatics 29, 2722, 2013).
const THRESHOLDS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Number of distances that are computed together.
const MOST: usize = 256;

/// The preserved fraction of all distances of each frame, and of the distances of each residue. The fraction is NaN for a
/// residue without distances.
#[derive(Debug, Clone)]
pub struct LocalDistances {
    distances: Arc<Distances>,
    /// The number of thresholds that the distances of each atom satisfy in one frame, summed over the distances.
    kept: Vec<f64>,
    level: Level,
}

/// The distances between atoms of different residues in the reference.
#[derive(Debug)]
struct Distances {
    /// Residue of each atom.
    residues: Vec<u32>,
    /// For each atom, the index of its first partner in `partners`, followed by the number of all partners. Each pair is listed
    /// once.
    starts: Vec<usize>,
    partners: Vec<u32>,
    /// The distance to each partner in the reference, in Å.
    lengths: Vec<f64>,
    /// The largest possible number of satisfied thresholds of each residue.
    possible: Vec<f64>,
}

impl LocalDistances {
    /// Creates the computation that compares distances with `reference` (Å).
    ///
    /// It uses the distances of up to `radius` (Å) between atoms of different `residues`, which are numbered from 0. Returns an
    /// error if there are no such distances, or if the input is not valid.
    pub fn new(reference: &[[f64; 3]], residues: Vec<u32>, radius: f64) -> Result<Self> {
        LocalDistances::at_level(reference, residues, radius, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    fn at_level(reference: &[[f64; 3]], residues: Vec<u32>, radius: f64, level: Level) -> Result<Self> {
        let kept = vec![0.0; reference.len()];
        Ok(LocalDistances { distances: Arc::new(Distances::new(reference, residues, radius)?), kept, level })
    }
}

impl Distances {
    fn new(reference: &[[f64; 3]], residues: Vec<u32>, radius: f64) -> Result<Self> {
        check_radius(radius)?;
        if residues.len() != reference.len() {
            let message = format!("expected the residues of {} atoms, got {}", reference.len(), residues.len());
            return Err(Error::mismatch(message));
        }
        let columns: [Vec<f64>; 3] = std::array::from_fn(|axis| reference.iter().map(|point| point[axis]).collect());
        let mut neighbours = Neighbours::default();
        if !neighbours.place(columns.each_ref().map(|column| &column[..]), None, radius) {
            return Err(Error::mismatch("the reference has coordinates that are not finite"));
        }
        let n_residues = residues.iter().max().map_or(0, |&last| last as usize + 1);
        let (mut starts, mut partners, mut lengths) = (vec![0], Vec::new(), Vec::new());
        let mut possible = vec![0.0; n_residues];
        let mut near = Near { residues: &residues, radius, found: Vec::new() };
        for (atom, &point) in (0..).zip(reference) {
            neighbours.near(atom, point, &mut near);
            near.found.sort_unstable_by_key(|&(partner, _)| partner);
            for (partner, length) in near.found.drain(..) {
                for one in [atom, partner] {
                    possible[residues[one as usize] as usize] += THRESHOLDS.len() as f64;
                }
                partners.push(partner);
                lengths.push(length);
            }
            starts.push(partners.len());
        }
        if partners.is_empty() {
            let message = format!("the reference has no distances of up to {radius} Å between atoms of two residues");
            return Err(Error::mismatch(message));
        }
        Ok(Distances { residues, starts, partners, lengths, possible })
    }

    /// Counts the thresholds that the distances of each atom satisfy.
    #[inline(always)]
    fn count(&self, columns: Columns<'_>, kept: &mut [f64]) {
        let mut squares = [0.0; MOST];
        kept.fill(0.0);
        for (atom, ends) in self.starts.windows(2).enumerate() {
            let from = [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom]));
            let mut total = 0.0;
            for first in (ends[0]..ends[1]).step_by(MOST) {
                let last = ends[1].min(first + MOST);
                let (partners, counts) = (&self.partners[first..last], &mut squares[..last - first]);
                for (square, &partner) in counts.iter_mut().zip(partners) {
                    let partner = partner as usize;
                    let [x, y, z] = [
                        f64::from(columns.x[partner]) - from[0],
                        f64::from(columns.y[partner]) - from[1],
                        f64::from(columns.z[partner]) - from[2],
                    ];
                    *square = x * x + y * y + z * z;
                }
                n_kept(counts, &self.lengths[first..last]);
                for (&count, &partner) in counts.iter().zip(partners) {
                    kept[partner as usize] += count;
                    total += count;
                }
            }
            kept[atom] += total;
        }
    }
}

/// Replaces the square of each distance by the number of thresholds that the distance satisfies.
#[inline(always)]
fn n_kept(squares: &mut [f64], lengths: &[f64]) {
    for (value, length) in squares.iter_mut().zip(lengths) {
        let difference = (value.sqrt() - length).abs();
        let mut count = 0.0;
        for threshold in THRESHOLDS {
            count += if difference <= threshold { 1.0 } else { 0.0 };
        }
        *value = count;
    }
}

/// Collector for the atoms near an atom that belong to other residues and have a higher index.
struct Near<'a> {
    residues: &'a [u32],
    radius: f64,
    found: Vec<(u32, f64)>,
}

impl Visit for Near<'_> {
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for (k, &to) in run.places.iter().enumerate() {
            let [x, y, z] = run.vector(k);
            let length = (x * x + y * y + z * z).sqrt();
            let is_other = self.residues[from as usize] != self.residues[to as usize];
            if to > from && is_other && length <= self.radius {
                self.found.push((to, length));
            }
        }
    }
}

impl Computation for LocalDistances {
    fn n_atoms(&self) -> usize {
        self.kept.len()
    }

    fn layout(&self) -> Layout {
        Layout::columns(1 + self.distances.possible.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        self.level.run(MapBatch { distances: &self.distances, kept: &mut self.kept, batch, slots })
    }
}

struct MapBatch<'a, 'b> {
    distances: &'a Distances,
    kept: &'a mut [f64],
    batch: &'a FrameBatch,
    slots: &'a mut Slots<'b>,
}

impl Operation for MapBatch<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let MapBatch { distances, kept, batch, slots } = self;
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            if [columns.x, columns.y, columns.z].into_iter().flatten().any(|value| !value.is_finite()) {
                return Err(not_finite(batch, i, "distances"));
            }
            distances.count(columns, kept);
            let row = slots.row(i);
            row.fill(0.0);
            for (&count, &residue) in kept.iter().zip(&distances.residues) {
                row[1 + residue as usize] += count;
            }
            // Each pair counts for two residues, both in the numerator and in the denominator.
            row[0] = row[1..].iter().sum::<f64>() / distances.possible.iter().sum::<f64>();
            for (value, possible) in row[1..].iter_mut().zip(&distances.possible) {
                *value /= possible;
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

    type Frame = Vec<[f32; 3]>;
    const N_ATOMS: usize = 40;

    fn distance(frame: &[[f64; 3]], i: usize, j: usize) -> f64 {
        (0..3).map(|k| (frame[i][k] - frame[j][k]).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns the expected fractions, from a loop over all pairs of atoms.
    fn expected(reference: &[[f64; 3]], frame: &Frame, residues: &[u32], radius: f64) -> Vec<f64> {
        let frame: Vec<[f64; 3]> = frame.iter().map(|point| point.map(f64::from)).collect();
        let n_residues = residues.iter().max().map_or(0, |last| *last as usize + 1);
        let (mut kept, mut possible) = (vec![0u32; 1 + n_residues], vec![0u32; 1 + n_residues]);
        for i in 0..frame.len() {
            for j in i + 1..frame.len() {
                let length = distance(reference, i, j);
                if residues[i] == residues[j] || length > radius {
                    continue;
                }
                let difference = (distance(&frame, i, j) - length).abs();
                let n_kept = [0.5, 1.0, 2.0, 4.0].iter().filter(|&&most| difference <= most).count() as u32;
                for column in [0, 1 + residues[i] as usize, 1 + residues[j] as usize] {
                    kept[column] += n_kept;
                    possible[column] += 4;
                }
            }
        }
        kept.iter().zip(&possible).map(|(kept, possible)| f64::from(*kept) / f64::from(*possible)).collect()
    }

    proptest! {
        #[test]
        fn fractions_are_those_of_all_pairs(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-9f32..9.0), N_ATOMS), 2..5),
            residues in prop::collection::vec(0u32..9, N_ATOMS),
            radius in 3f64..20.0,
        ) {
            let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
            for level in Level::available() {
                let Ok(lddt) = LocalDistances::at_level(&reference, residues.clone(), radius, level) else { continue };
                let rows = mapped(lddt, &[batch(0, &frames, None)]).unwrap().rows;
                let found = rows.into_values();
                let width = found.len() / frames.len();
                for (row, frame) in found.chunks_exact(width).zip(&frames) {
                    let expected = expected(&reference, frame, &residues, radius);
                    prop_assert_eq!(row.len() - 2, expected.len());
                    for (one, other) in row[2..].iter().zip(expected) {
                        prop_assert!(*one == other || one.is_nan() && other.is_nan(), "{} and {}", one, other);
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_no_distances_is_refused() {
        let far = [[0.0; 3], [30.0, 0.0, 0.0]];
        let message = |residues: Vec<u32>, radius| LocalDistances::new(&far, residues, radius).unwrap_err().to_string();
        assert!(message(vec![0, 1], 15.0).contains("no distances of up to 15 Å"));
        assert!(message(vec![0, 0], 99.0).contains("no distances"));
        assert!(message(vec![0], 15.0).contains("expected the residues of 2 atoms, got 1"));
        assert!(message(vec![0, 1], f64::NAN).contains("expected a length"));
        let wrong = [[0.0; 3], [f64::NAN; 3]];
        let error = LocalDistances::new(&wrong, vec![0, 1], 15.0).unwrap_err().to_string();
        assert!(error.contains("not finite"), "{error}");
        let lddt = LocalDistances::new(&far, vec![0, 1], 40.0).unwrap();
        let error = mapped(lddt, &[batch(3, &[vec![[0.0; 3], [f32::NAN; 3]]], None)]).unwrap_err().to_string();
        assert!(error.contains("frame 3: atom 1 of the 2 selected"), "{error}");
    }
}
