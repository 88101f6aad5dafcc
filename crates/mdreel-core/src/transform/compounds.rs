//! Compounds: groups of atoms that stay together, for example molecules.

use std::ops::Range;

use super::sum;
use crate::error::{Error, Result};

/// Groups of atoms, each moved as a unit, with the weights for their centres.
#[derive(Debug, Clone)]
pub struct Compounds {
    atoms: Vec<u32>,
    ends: Vec<usize>,
    weights: Option<Vec<f64>>,
}

/// The compounds whose atoms are all in the frames, with the positions of these atoms in the frames, and their weights.
#[derive(Debug)]
pub(super) struct Present {
    /// The position of each atom in the frames.
    pub places: Vec<u32>,
    /// The atoms of each compound: their range in `places`, and their range among the atoms of all compounds.
    pub ranges: Vec<(Range<usize>, Range<usize>)>,
    weights: Option<Vec<f64>>,
}

impl Compounds {
    /// Creates compounds from `atoms`, one compound after another. Each compound extends to the next of the `ends`.
    /// `weights` contains the weight of each atom; `None` gives all atoms equal weights. Returns an error if a compound
    /// is empty or has no weight, or if an atom is in several compounds.
    pub fn new(atoms: Vec<u32>, ends: Vec<usize>, weights: Option<Vec<f64>>) -> Result<Self> {
        let mismatch = |message: String| Err(Error::mismatch(message));
        if ends.last().copied().unwrap_or(0) != atoms.len() || atoms.is_empty() {
            return mismatch(format!("compounds must have atoms, and end with the last of {}", atoms.len()));
        }
        let mut sorted = atoms.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return mismatch(format!("atom {} is in more than one compound", pair[0]));
        }
        if weights.as_ref().is_some_and(|weights| weights.len() != atoms.len()) {
            return mismatch(format!("there must be a weight for each of the {} atoms", atoms.len()));
        }
        let compounds = Compounds { atoms, ends, weights };
        for (range, number) in compounds.ranges().zip(0..) {
            if range.is_empty() {
                return mismatch(format!("compound {number} has no atoms"));
            }
            let Some(weights) = compounds.weights.as_ref().map(|weights| &weights[range]) else { continue };
            let is_usable = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
            if !is_usable || weights.iter().sum::<f64>() <= 0.0 {
                return mismatch(format!("compound {number} has weights that give no centre"));
            }
        }
        Ok(compounds)
    }

    /// Returns all atoms, one compound after another.
    pub(crate) fn atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// Returns the range of atoms of each compound.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter().copied()).map(|(start, end)| start..end.max(start))
    }

    /// Adds to `wanted`, which must ascend, all atoms of the compounds that contain one of them.
    pub(super) fn complete(&self, wanted: &mut Vec<u32>) {
        let n_wanted = wanted.len();
        for range in self.ranges() {
            let atoms = &self.atoms[range];
            if atoms.iter().any(|atom| wanted[..n_wanted].binary_search(atom).is_ok()) {
                wanted.extend(atoms);
            }
        }
    }

    /// Returns the compounds whose atoms are all among `atoms`, which must ascend.
    pub(super) fn present(&self, atoms: &[u32]) -> Present {
        let mut present = Present { places: Vec::new(), ranges: Vec::new(), weights: None };
        let mut weights = Vec::new();
        for range in self.ranges() {
            let first = present.places.len();
            let found = self.atoms[range.clone()].iter().map_while(|atom| atoms.binary_search(atom).ok());
            present.places.extend(found.map(|place| place as u32));
            if present.places.len() - first < range.len() {
                present.places.truncate(first);
                continue;
            }
            weights.extend(self.weights.as_ref().map(|weights| &weights[range.clone()]).into_iter().flatten());
            present.ranges.push((first..present.places.len(), range));
        }
        present.weights = self.weights.is_some().then_some(weights);
        present
    }
}

impl Present {
    /// Returns the centre of the compound with the given range, for the given positions of its atoms.
    pub(crate) fn center(&self, range: &Range<usize>, positions: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
        match &self.weights {
            None => {
                let total = positions.fold([0.0; 3], sum);
                total.map(|value| value / range.len() as f64)
            }
            Some(weights) => {
                let weights = &weights[range.clone()];
                let total = positions
                    .zip(weights)
                    .fold([0.0; 3], |total, (position, weight)| sum(total, position.map(|value| value * weight)));
                let weight: f64 = weights.iter().sum();
                total.map(|value| value / weight)
            }
        }
    }
}
