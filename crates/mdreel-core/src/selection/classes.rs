//! Properties of atoms that do not depend on positions: labels and bonds.

use super::set::Set;
use crate::error::{Error, Result};

/// The label of an atom that matches no atom, not even itself.
pub const UNLIKE: u32 = u32::MAX;

/// Lists of atoms, stored one after another.
#[derive(Debug)]
struct Lists {
    starts: Vec<usize>,
    atoms: Vec<u32>,
}

impl Lists {
    /// Creates the lists from pairs of a list number and an atom.
    fn new(n_lists: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; n_lists + 2];
        pairs.clone().for_each(|(list, _)| starts[list as usize + 2] += 1);
        for list in 2..starts.len() {
            starts[list] += starts[list - 1];
        }
        let mut atoms = vec![0; starts[n_lists + 1]];
        for (list, atom) in pairs {
            let next = &mut starts[list as usize + 1];
            atoms[*next] = atom;
            *next += 1;
        }
        Lists { starts, atoms }
    }

    fn list(&self, list: u32) -> &[u32] {
        &self.atoms[self.starts[list as usize]..self.starts[list as usize + 1]]
    }
}

/// Classes of atoms that have the same label.
#[derive(Debug)]
pub(super) struct Classes {
    /// The class of each atom, or [`UNLIKE`] if it has none.
    class: Vec<u32>,
    n_classes: usize,
    lists: Lists,
}

impl Classes {
    pub(super) fn new(n_atoms: usize, labels: &[u32]) -> Result<Self> {
        if labels.len() != n_atoms {
            return Err(Error::mismatch(format!("there are {} labels for {n_atoms} atoms", labels.len())));
        }
        let mut distinct: Vec<u32> = labels.iter().copied().filter(|&label| label != UNLIKE).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let class = |label| distinct.binary_search(label).map_or(UNLIKE, |class| class as u32);
        let class: Vec<u32> = labels.iter().map(class).collect();
        let pairs = class.iter().copied().zip(0..).filter(|&(class, _)| class != UNLIKE);
        let lists = Lists::new(distinct.len(), pairs);
        Ok(Classes { n_classes: distinct.len(), lists, class })
    }

    /// Returns all atoms that have the same label as one of `atoms`.
    pub(super) fn alike(&self, atoms: &Set) -> Set {
        let (mut found, mut seen) = (Set::none(self.class.len()), Set::none(self.n_classes));
        for atom in atoms.iter() {
            let class = self.class[atom as usize];
            if class != UNLIKE && !seen.contains(class) {
                seen.insert(class);
                self.lists.list(class).iter().for_each(|&other| found.insert(other));
            }
        }
        found
    }
}

/// The bonds of each atom.
#[derive(Debug)]
pub(super) struct Bonds {
    n_atoms: usize,
    lists: Lists,
}

impl Bonds {
    pub(super) fn new(n_atoms: usize, bonds: &[[u32; 2]]) -> Result<Self> {
        if let Some(&atom) = bonds.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a bond has atom {atom}: there are {n_atoms}")));
        }
        let pairs = bonds.iter().flat_map(|&[one, other]| [(one, other), (other, one)]);
        Ok(Bonds { n_atoms, lists: Lists::new(n_atoms, pairs) })
    }

    /// Returns the atoms that are bonded to one of `atoms`. A bond counts only if at least one of its atoms belongs to
    /// the group.
    pub(super) fn of(&self, atoms: &Set, group: &Set) -> Set {
        let mut found = Set::none(self.n_atoms);
        for atom in atoms.iter() {
            for &other in self.lists.list(atom) {
                if group.contains(atom) || group.contains(other) {
                    found.insert(other);
                }
            }
        }
        found
    }
}
