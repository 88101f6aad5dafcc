//! Sets of atoms.

/// A set of atoms of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set {
    n_atoms: usize,
    words: Vec<u64>,
}

impl Set {
    /// Returns the empty set for a system of `n_atoms` atoms.
    pub(crate) fn none(n_atoms: usize) -> Self {
        Set { n_atoms, words: vec![0; n_atoms.div_ceil(64)] }
    }

    /// Returns the set of all `n_atoms` atoms.
    pub(crate) fn all(n_atoms: usize) -> Self {
        let mut words = vec![u64::MAX; n_atoms / 64];
        if !n_atoms.is_multiple_of(64) {
            words.push((1 << (n_atoms % 64)) - 1);
        }
        Set { n_atoms, words }
    }

    /// Returns the set of the given atoms, for a system of `n_atoms` atoms.
    pub(crate) fn of(n_atoms: usize, atoms: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Set::none(n_atoms);
        atoms.into_iter().for_each(|atom| set.insert(atom));
        set
    }

    /// Returns the number of atoms in the system.
    pub(crate) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    pub(crate) fn insert(&mut self, atom: u32) {
        self.words[atom as usize / 64] |= 1 << (atom % 64);
    }

    pub(crate) fn contains(&self, atom: u32) -> bool {
        self.words[atom as usize / 64] >> (atom % 64) & 1 != 0
    }

    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the intersection with the other set.
    #[must_use]
    pub(crate) fn both(&self, other: &Set) -> Set {
        self.with(other, |one, other| one & other)
    }

    /// Returns the union with the other set.
    #[must_use]
    pub(crate) fn either(&self, other: &Set) -> Set {
        self.with(other, |one, other| one | other)
    }

    /// Returns the atoms of this set that are not in the other set.
    #[must_use]
    pub(crate) fn without(&self, other: &Set) -> Set {
        self.with(other, |one, other| one & !other)
    }

    fn with(&self, other: &Set, combine: impl Fn(u64, u64) -> u64) -> Set {
        let words = self.words.iter().zip(&other.words).map(|(&one, &other)| combine(one, other)).collect();
        Set { n_atoms: self.n_atoms, words }
    }

    /// Returns the atoms in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).step_by(64).zip(&self.words).flat_map(|(first, &word): (u32, &u64)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let next = (rest != 0).then(|| first + rest.trailing_zeros());
                rest &= rest.wrapping_sub(1);
                next
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sets_are_those_of_the_library(
            n_atoms in 1usize..200,
            one in prop::collection::btree_set(0u32..200, 0..80),
            other in prop::collection::btree_set(0u32..200, 0..80),
        ) {
            let kept = |atoms: BTreeSet<u32>| -> BTreeSet<u32> {
                atoms.into_iter().filter(|&atom| (atom as usize) < n_atoms).collect()
            };
            let (one, other) = (kept(one), kept(other));
            let [first, second] = [&one, &other].map(|atoms| Set::of(n_atoms, atoms.iter().copied()));
            let found = |set: Set| set.iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(found(first.both(&second)), one.intersection(&other).copied().collect());
            prop_assert_eq!(found(first.either(&second)), one.union(&other).copied().collect());
            prop_assert_eq!(found(first.without(&second)), one.difference(&other).copied().collect());
            prop_assert_eq!(found(Set::all(n_atoms).without(&first)).len(), n_atoms - one.len());
            prop_assert_eq!(first.len(), one.len());
            prop_assert!((0..n_atoms as u32).all(|atom| first.contains(atom) == one.contains(&atom)));
        }
    }
}
