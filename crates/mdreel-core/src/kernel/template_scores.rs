//! TM-score, GDT-TS and GDT-HA of each frame: measures of how many residues are near their reference after the best
//! superposition.
//!
//! The search follows Y. Zhang and J. Skolnick (Proteins 57, 702, 2004). It starts from fragments of all residues, of half of
//! them, of a quarter, and so on down to four residues, at each possible first residue. It superposes a fragment, then the
//! residues that are near their reference, then the residues that are near after that, until a set of residues occurs for the
//! second time. The following steps depend only on this set, so the search has already taken them, possibly for another
//! fragment. Each score is the largest over all superpositions.

use std::collections::HashSet;

use super::each_frame::{EachFrame, Measure};
use crate::error::{Error, Result};
use crate::frame::{LANES, Octets};
use crate::simd::{Lanes, Level};
use crate::superpose::{Motion, Points, superpose_pairs};

/// Number of residues in the smallest fragments.
const SHORTEST: usize = 4;
/// Smallest value of the distance scale of the TM-score, in Å.
const LEAST_SCALE: f64 = 0.5;
/// Limits of the distance within which residues are near in the search, in Å.
const SEARCH: [f64; 2] = [4.5, 8.0];
/// Change of the distance within which residues are near, after the superposition of a fragment, in Å.
const NARROWER: f64 = -1.0;
/// Change of the distance within which residues are near, after the superposition of a set of residues, in Å.
const WIDER: f64 = 1.0;
/// Step by which the distance grows until `FEWEST` residues are near, in Å.
const STEP: f64 = 0.5;
/// Smallest number of residues that the search superposes after a fragment.
const FEWEST: usize = 3;
/// Distances up to which residues count for the global distance tests, in Å.
const CUTOFFS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// TM-score, GDT-TS and GDT-HA of each frame.
pub type TemplateScores = EachFrame<Search, 3>;

/// Search for the superpositions with the largest scores.
#[derive(Debug)]
pub struct Search {
    n_atoms: usize,
    /// The atom of each residue, in the order of the chain.
    atoms: Vec<u32>,
    reference: Points,
    /// Number of residues of the target. Scores are divided by this number.
    n_residues: f64,
    /// Distance at which a residue counts one half for the TM-score, in Å.
    scale: f64,
}

/// The sum of the TM-score, and the number of residues within each cutoff.
type Scores = [f64; 1 + CUTOFFS.len()];

impl TemplateScores {
    /// Creates the computation of the scores of `atoms` against `reference` (Å), for a target of `n_residues` residues.
    ///
    /// `atoms` contains one of the `n_atoms` atoms for each residue, in the order of the chain. Returns an error if the input
    /// is not valid.
    pub fn new(n_atoms: usize, atoms: Vec<u32>, reference: &[[f64; 3]], n_residues: usize) -> Result<Self> {
        TemplateScores::at_level(n_atoms, atoms, reference, n_residues, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    fn at_level(
        n_atoms: usize,
        atoms: Vec<u32>,
        reference: &[[f64; 3]],
        n_residues: usize,
        level: Level,
    ) -> Result<Self> {
        if atoms.is_empty() || atoms.len() != reference.len() || atoms.len() > n_residues {
            let found = format!("{} atoms, {} of the reference, {n_residues} residues", atoms.len(), reference.len());
            return Err(Error::mismatch(format!("expected an atom of each residue, got {found}")));
        }
        if let Some(atom) = atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a residue has atom {atom} of {n_atoms}")));
        }
        if let Some(i) = reference.iter().position(|point| point.iter().any(|value| !value.is_finite())) {
            return Err(Error::mismatch(format!("the reference is not finite: atom {i} is at {:?}", reference[i])));
        }
        let columns = std::array::from_fn(|k| reference.iter().map(|point| point[k]).collect());
        let n_residues = n_residues as f64;
        let scale = (1.24 * (n_residues - 15.0).max(0.0).cbrt() - 1.8).max(LEAST_SCALE);
        let search = Search { n_atoms, atoms, reference: centred(columns), n_residues, scale };
        Ok(EachFrame::with(search, level))
    }
}

impl Measure<3> for Search {
    const NAME: &'static str = "scores";

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    #[inline(always)]
    fn of<L: Lanes>(&self, frame: Octets<'_>) -> [f64; 3] {
        let column = |k: usize| self.atoms.iter().map(|&atom| value_of(frame[k], atom)).collect::<Vec<f64>>();
        let mobile = centred([column(0), column(1), column(2)]);
        if mobile.iter().flatten().any(|value| !value.is_finite()) {
            return [f64::NAN; 3];
        }
        let [score, half, one, two, four, eight] = self.best(&mobile).map(|sum| sum / self.n_residues);
        [score, (one + two + four + eight) / 4.0, (half + one + two + four) / 4.0]
    }
}

impl Search {
    /// Returns the largest scores over all superpositions of the search.
    #[inline(always)]
    fn best(&self, mobile: &Points) -> Scores {
        let n_atoms = self.atoms.len();
        let near = self.scale.clamp(SEARCH[0], SEARCH[1]);
        let mut best = [0.0; 1 + CUTOFFS.len()];
        let mut squares = vec![[f64::INFINITY; LANES]; n_atoms.div_ceil(LANES)];
        let mut seen: HashSet<Vec<u64>> = HashSet::new();
        let mut chosen: Vec<u32> = Vec::with_capacity(n_atoms);
        let mut length = n_atoms;
        loop {
            for start in 0..=n_atoms - length {
                chosen.clear();
                chosen.extend((start..start + length).map(|place| place as u32));
                let mut margin = NARROWER;
                loop {
                    let motion = superpose_pairs(mobile, &self.reference, &chosen);
                    distances(&motion, mobile, &self.reference, &mut squares);
                    add_largest(&mut best, scores(&squares, self.scale));
                    let set = choose(&squares, near + margin, n_atoms, &mut chosen);
                    if !seen.insert(set) {
                        break;
                    }
                    margin = WIDER;
                }
            }
            if length <= SHORTEST {
                return best;
            }
            length = (length / 2).max(SHORTEST);
        }
    }
}

/// Returns the coordinate of an atom.
#[inline(always)]
fn value_of(column: &[[f32; LANES]], atom: u32) -> f64 {
    f64::from(column[atom as usize / LANES][atom as usize % LANES])
}

/// Returns the points, shifted so that their centre is at the origin.
#[inline(always)]
fn centred(mut points: Points) -> Points {
    for column in &mut points {
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        column.iter_mut().for_each(|value| *value -= mean);
    }
    points
}

/// Computes the squares of the distances between the moved points and the reference, in Å². The padding stays infinite.
#[inline(always)]
fn distances(motion: &Motion, mobile: &Points, reference: &Points, squares: &mut [[f64; LANES]]) {
    let ([x, y, z], [to_x, to_y, to_z]) = (mobile, reference);
    let (rows, shift) = (motion.rotation, motion.shift);
    for (place, square) in squares.as_flattened_mut()[..x.len()].iter_mut().enumerate() {
        let point = [x[place], y[place], z[place]];
        let target = [to_x[place], to_y[place], to_z[place]];
        let mut sum = 0.0;
        for k in 0..3 {
            let turned = rows[k][0] * point[0] + rows[k][1] * point[1] + rows[k][2] * point[2];
            let distance = turned + (shift[k] - target[k]);
            sum += distance * distance;
        }
        *square = sum;
    }
}

/// Returns the sum of the TM-score, and the number of residues within each cutoff.
#[inline(always)]
fn scores(squares: &[[f64; LANES]], scale: f64) -> Scores {
    let factor = 1.0 / (scale * scale);
    let mut sums = [[0.0; LANES]; 1 + CUTOFFS.len()];
    for octet in squares {
        for (sum, square) in sums[0].iter_mut().zip(octet) {
            *sum += 1.0 / (1.0 + square * factor);
        }
        for (sums, cutoff) in sums[1..].iter_mut().zip(CUTOFFS) {
            for (sum, square) in sums.iter_mut().zip(octet) {
                *sum += if *square <= cutoff * cutoff { 1.0 } else { 0.0 };
            }
        }
    }
    sums.map(|octet| octet.iter().sum())
}

#[inline(always)]
fn add_largest(best: &mut Scores, found: Scores) {
    for (best, found) in best.iter_mut().zip(found) {
        *best = best.max(found);
    }
}

/// Chooses the residues within `cutoff` (Å), and returns them as a bit set.
///
/// If fewer than `FEWEST` residues are within the cutoff, the function first increases the cutoff.
#[inline(always)]
fn choose(squares: &[[f64; LANES]], cutoff: f64, n_atoms: usize, chosen: &mut Vec<u32>) -> Vec<u64> {
    let squares = &squares.as_flattened()[..n_atoms];
    let mut limit = cutoff * cutoff;
    if squares.iter().filter(|&&square| square <= limit).count() < FEWEST.min(n_atoms) {
        limit = wider(squares, cutoff);
    }
    let mut set = vec![0u64; n_atoms.div_ceil(64)];
    chosen.clear();
    for (place, square) in squares.iter().enumerate() {
        if *square <= limit {
            chosen.push(place as u32);
            set[place / 64] |= 1 << (place % 64);
        }
    }
    set
}

/// Returns the square of the cutoff (Å²) after increasing it by the smallest number of steps that includes `FEWEST` residues.
#[cold]
fn wider(squares: &[f64], cutoff: f64) -> f64 {
    let mut sorted = squares.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let needed = sorted[FEWEST.min(sorted.len()) - 1];
    let larger = STEP.mul_add(((needed.sqrt() - cutoff) / STEP).ceil(), cutoff);
    (larger * larger).max(needed)
}

#[cfg(test)]
mod tests;
