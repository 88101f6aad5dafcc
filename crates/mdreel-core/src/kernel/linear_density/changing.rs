//! Atoms that are selected again in each frame, and their compounds.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::{FrameBatch, LANES};
use crate::kernel::group::Group;

/// The selected atoms, or the centres of mass of the selected atoms of each compound.
#[derive(Debug, Clone)]
pub(super) struct ChangingCompounds {
    n_atoms: usize,
    group: Group,
    /// Mass and charge of each atom of the group.
    given: Arc<Vec<[f64; 2]>>,
    /// The compound of each atom of the group; `None` if each atom is counted by itself.
    labels: Option<Arc<Vec<u32>>>,
    n_compounds: usize,
}

impl ChangingCompounds {
    /// Creates the computation for a group among `n_atoms` atoms.
    ///
    /// The masses, charges and labels belong to the atoms of the group; the caller has checked them. Returns an error if their
    /// number differs from the number of atoms, or an atom does not exist.
    pub(super) fn new(
        n_atoms: usize,
        group: Group,
        [masses, charges]: [&[f64]; 2],
        labels: Option<&[u32]>,
        n_compounds: usize,
    ) -> Result<Self> {
        if let Some(atom) = group.places().iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a density needs atom {atom} of {n_atoms}")));
        }
        if masses.len() != group.len() {
            return Err(Error::mismatch(format!("a group of {} atoms has {} masses", group.len(), masses.len())));
        }
        let given = masses.iter().zip(charges).map(|(&mass, &charge)| [mass, charge]).collect();
        let labels = labels.map(|labels| Arc::new(labels.to_vec()));
        Ok(ChangingCompounds { n_atoms, group, given: Arc::new(given), labels, n_compounds })
    }

    pub(super) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Writes the positions in the i-th frame (Å) to `centres`, and the masses and charges to `amounts`, both padded to full
    /// octets.
    ///
    /// Returns whether all positions are finite. Returns an error if the selected atoms of a compound have no mass.
    pub(super) fn locate(
        &mut self,
        batch: &FrameBatch,
        i: usize,
        centres: &mut [Vec<f64>; 3],
        amounts: &mut Vec<[f64; 2]>,
    ) -> Result<bool> {
        let (places, given, labels) = (self.group.places().clone(), self.given.clone(), self.labels.clone());
        let columns = batch.columns(i);
        let columns = [columns.x, columns.y, columns.z];
        let numbers = self.group.numbers(batch, i)?;
        amounts.clear();
        centres.iter_mut().for_each(Vec::clear);
        match labels {
            None => {
                amounts.extend(numbers.iter().map(|&number| given[number as usize]));
                for (centres, column) in centres.iter_mut().zip(columns) {
                    centres.extend(numbers.iter().map(|&number| f64::from(column[places[number as usize] as usize])));
                }
            }
            Some(labels) => {
                amounts.resize(self.n_compounds, [0.0; 2]);
                centres.iter_mut().for_each(|centres| centres.resize(self.n_compounds, 0.0));
                for number in numbers.iter().map(|&number| number as usize) {
                    let (compound, [mass, charge]) = (labels[number] as usize, given[number]);
                    let [total_mass, total_charge] = &mut amounts[compound];
                    *total_mass += mass;
                    *total_charge += charge;
                    for (centres, column) in centres.iter_mut().zip(columns) {
                        centres[compound] += mass * f64::from(column[places[number] as usize]);
                    }
                }
                let massless = numbers.iter().map(|&number| labels[number as usize]);
                if let Some(compound) = massless.into_iter().find(|&compound| amounts[compound as usize][0] <= 0.0) {
                    let problem = format!("the selected atoms of compound {compound} have no mass");
                    let message = format!("{problem}, so they have no centre of mass");
                    return Err(Error::mismatch(message).at_frame(batch.header(i).index));
                }
                for centres in centres.iter_mut() {
                    // A compound without selected atoms has no mass and no charge, so its position does not matter.
                    for (centre, [mass, _]) in centres.iter_mut().zip(&*amounts).filter(|(_, amount)| amount[0] > 0.0) {
                        *centre /= mass;
                    }
                }
            }
        }
        let n_octets = amounts.len().next_multiple_of(LANES);
        amounts.resize(n_octets, [0.0; 2]);
        centres.iter_mut().for_each(|centres| centres.resize(n_octets, 0.0));
        Ok(centres.iter().flatten().fold(true, |all, at| all & at.is_finite()))
    }
}
