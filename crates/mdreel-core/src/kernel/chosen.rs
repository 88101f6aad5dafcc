//! Selection of atoms, copied to contiguous memory.

use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};

/// Atoms to take from each frame of a batch.
#[derive(Debug)]
pub(super) struct Chosen {
    n_atoms: usize,
    /// The atoms and a batch that holds their copy; `None` for all atoms.
    some: Option<(Vec<u32>, FrameBatch)>,
}

impl Clone for Chosen {
    fn clone(&self) -> Self {
        let some = self.some.as_ref().map(|(atoms, batch)| (atoms.clone(), batch.empty_copy()));
        Chosen { n_atoms: self.n_atoms, some }
    }
}

impl Chosen {
    /// Selects `atoms` (`None`: all) from frames of `n_atoms` atoms for a computation that expects `n_wanted` atoms.
    pub(crate) fn new(
        n_atoms: usize,
        atoms: Option<Vec<u32>>,
        n_wanted: usize,
        quantities: Quantities,
    ) -> Result<Self> {
        let given = atoms.as_ref().map_or(n_atoms, Vec::len);
        if n_wanted != given {
            return Err(Error::mismatch(format!("a computation wants {n_wanted} atoms, it is given {given}")));
        }
        if let Some(&atom) = atoms.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a computation wants atom {atom} of {n_atoms}")));
        }
        let some = atoms.map(|atoms| {
            let batch = FrameBatch::for_quantities(atoms.len(), quantities);
            (atoms, batch)
        });
        Ok(Chosen { n_atoms: given, some })
    }

    /// Selects all of `n_atoms` atoms.
    pub(crate) fn all(n_atoms: usize) -> Self {
        Chosen { n_atoms, some: None }
    }

    /// Returns the number of selected atoms.
    pub(crate) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the frames of `batch`, reduced to the selected atoms.
    pub(crate) fn of<'a>(&'a mut self, batch: &'a FrameBatch) -> &'a FrameBatch {
        match &mut self.some {
            None => batch,
            Some((atoms, chosen)) => {
                chosen.copy_atoms(batch, atoms);
                chosen
            }
        }
    }
}
