//! Compounds: atoms that stay together, for example in a molecule.

use std::ops::Range;

use super::sum;
use crate::error::{Error, Result};

/// Groups of atoms, each moved as one, with the weights of their centres.
#[derive(Debug, Clone)]
pub struct Compounds {
    atoms: Vec<u32>,
    ends: Vec<usize>,
    weights: Option<Vec<f64>>,
}

/// Those of which all atoms are there: where among the atoms, and their places and weights.
#[derive(Debug)]
pub(super) struct Present {
    /// For each atom its place in the frames.
    pub places: Vec<u32>,
    /// Which atoms each compound has, here and in all compounds.
    pub ranges: Vec<(Range<usize>, Range<usize>)>,
    weights: Option<Vec<f64>>,
}

impl Compounds {
    /// Creates the transformation for `atoms`, one compound behind the other, each up to one of the `ends`. Weights are
    /// those of the atoms; `None`: all alike. Returns an error if a compound is empty or has no weight, or an atom is
    /// in several.
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

    /// All atoms, one compound behind the other.
    pub(crate) fn atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// Which atoms each has.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter().copied()).map(|(start, end)| start..end.max(start))
    }

    /// Adds to `wanted`, which ascend, the other atoms of the compounds that they are in.
    pub(super) fn complete(&self, wanted: &mut Vec<u32>) {
        let n_wanted = wanted.len();
        for range in self.ranges() {
            let atoms = &self.atoms[range];
            if atoms.iter().any(|atom| wanted[..n_wanted].binary_search(atom).is_ok()) {
                wanted.extend(atoms);
            }
        }
    }

    /// Those of which all atoms are among `atoms`, which ascend.
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
    /// The centre of the compound that has `range`, at these positions of its atoms.
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
