//! Spanning forests of bonds, along which molecules are made whole.

use crate::error::{Error, Result};

/// Trees of bonds that connect all atoms of molecules, in breadth-first order from the root of each molecule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanningForest {
    /// The atoms, one molecule after another. Parents come before their children.
    pub atoms: Vec<u32>,
    /// The end of each molecule in `atoms`.
    pub ends: Vec<u64>,
    /// The position of each atom's parent in `atoms`. A root is its own parent.
    pub parents: Vec<u64>,
}

impl SpanningForest {
    /// Returns the trees of the molecules to which the roots belong, in the order of the roots. Atoms at the same
    /// distance from the root ascend. The parent of an atom is the first atom in this order that is bonded to it.
    /// Returns an error if a bond or a root names an atom that does not exist, or if a molecule has two roots.
    pub fn new(n_atoms: usize, bonds: &[[u32; 2]], roots: &[u32]) -> Result<Self> {
        if let Some(&atom) = bonds.as_flattened().iter().chain(roots).find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a bond or a molecule has atom {atom} of {n_atoms}")));
        }
        let (starts, neighbours) = neighbours(n_atoms, bonds);
        let mut forest = SpanningForest::default();
        let mut is_reached = vec![false; n_atoms];
        let mut next: Vec<(u32, u64)> = Vec::new();
        for &root in roots {
            if std::mem::replace(&mut is_reached[root as usize], true) {
                return Err(Error::mismatch(format!("the molecule of atom {root} has two roots")));
            }
            let mut front = forest.atoms.len();
            forest.atoms.push(root);
            forest.parents.push(front as u64);
            while front < forest.atoms.len() {
                for (&atom, place) in forest.atoms[front..].iter().zip(front as u64..) {
                    for &other in &neighbours[starts[atom as usize]..starts[atom as usize + 1]] {
                        if !std::mem::replace(&mut is_reached[other as usize], true) {
                            next.push((other, place));
                        }
                    }
                }
                front = forest.atoms.len();
                next.sort_unstable();
                for (atom, parent) in next.drain(..) {
                    forest.atoms.push(atom);
                    forest.parents.push(parent);
                }
            }
            forest.ends.push(front as u64);
        }
        Ok(forest)
    }
}

/// Returns the start of each atom's neighbours, followed by the end of all, and the neighbours of all atoms.
fn neighbours(n_atoms: usize, bonds: &[[u32; 2]]) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; n_atoms + 1];
    bonds.as_flattened().iter().for_each(|&atom| starts[atom as usize + 1] += 1);
    (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
    let mut ends = starts.clone();
    let mut neighbours = vec![0; 2 * bonds.len()];
    for &[one, other] in bonds {
        for (from, to) in [(one, other), (other, one)] {
            neighbours[ends[from as usize]] = to;
            ends[from as usize] += 1;
        }
    }
    (starts, neighbours)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes the distance of each atom from a root along bonds, with repeated passes over all bonds.
    fn distances(n_atoms: usize, bonds: &[[u32; 2]], root: u32) -> Vec<Option<u32>> {
        let mut found = vec![None; n_atoms];
        found[root as usize] = Some(0);
        for turn in 0..n_atoms as u32 {
            for [one, other] in bonds.iter().flat_map(|&[one, other]| [[one, other], [other, one]]) {
                if found[one as usize] == Some(turn) && found[other as usize].is_none() {
                    found[other as usize] = Some(turn + 1);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn trees_are_the_shortest_ways_and_ascend(
            bonds in prop::collection::vec(prop::array::uniform2(0u32..20), 0..30),
        ) {
            let mut roots: Vec<u32> = Vec::new();
            for atom in 0..20 {
                if roots.iter().all(|&root| distances(20, &bonds, root)[atom as usize].is_none()) {
                    roots.push(atom);
                }
            }
            roots.reverse();
            let forest = SpanningForest::new(20, &bonds, &roots).unwrap();
            let (mut start, mut expected) = (0, SpanningForest::default());
            for &root in &roots {
                let far = distances(20, &bonds, root);
                let mut tree: Vec<u32> = (0..20).filter(|&atom| far[atom as usize].is_some()).collect();
                tree.sort_by_key(|&atom| far[atom as usize]);
                for &atom in &tree {
                    let is_parent = |&one: &u32| {
                        let is_bonded = bonds.contains(&[one, atom]) || bonds.contains(&[atom, one]);
                        is_bonded && far[one as usize].unwrap() + 1 == far[atom as usize].unwrap()
                    };
                    let parent = tree.iter().position(is_parent).unwrap_or(0);
                    expected.parents.push((start + parent) as u64);
                }
                start += tree.len();
                expected.atoms.extend(tree);
                expected.ends.push(start as u64);
            }
            prop_assert_eq!(forest, expected);
        }
    }

    #[test]
    fn atoms_that_do_not_exist_and_second_roots_are_refused() {
        for (bonds, roots, expected) in [
            (vec![[0, 3]], vec![0], "atom 3 of 3"),
            (vec![[0, 1]], vec![4], "atom 4 of 3"),
            (vec![[0, 1]], vec![0, 1], "atom 1 has two roots"),
        ] {
            let message = SpanningForest::new(3, &bonds, &roots).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
