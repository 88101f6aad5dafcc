//! Indices into a list of pairs, in as few bytes as the number of pairs allows.

use serde::{Deserialize, Serialize};

/// Largest number of pairs whose indices have two bytes.
const MOST_SHORT: usize = 1 << 16;

/// Indices into a list of pairs, with two bytes each for up to 65,536 pairs, and four bytes each for more. The size depends
/// only on the number of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Places {
    /// Two bytes per index.
    Short(Vec<u16>),
    /// Four bytes per index.
    Long(Vec<u32>),
}

impl Default for Places {
    fn default() -> Self {
        Places::Short(Vec::new())
    }
}

impl Places {
    /// Converts the indices to four bytes if `n_pairs` pairs require it. The number of pairs never decreases.
    pub(super) fn widen_for(&mut self, n_pairs: usize) {
        if let Places::Short(places) = self
            && n_pairs > MOST_SHORT
        {
            *self = Places::Long(places.iter().map(|&place| place.into()).collect());
        }
    }

    /// Adds an index. The caller must have called `widen_for`.
    pub(super) fn push(&mut self, place: u32) {
        match self {
            Places::Short(places) => places.push(place as u16),
            Places::Long(places) => places.push(place),
        }
    }

    /// Adds the indices of another list, after replacing index `i` by `moved[i]`. The caller must have called `widen_for`.
    pub(super) fn extend_moved(&mut self, next: Places, moved: &[u32]) {
        match (self, next) {
            (Places::Short(places), Places::Short(next)) => {
                places.extend(next.into_iter().map(|place| moved[usize::from(place)] as u16));
            }
            (Places::Long(places), Places::Short(next)) => {
                places.extend(next.into_iter().map(|place| moved[usize::from(place)]));
            }
            (Places::Long(places), Places::Long(next)) => {
                places.extend(next.into_iter().map(|place| moved[place as usize]));
            }
            (Places::Short(_), Places::Long(_)) => unreachable!("a merged table has all pairs of the second"),
        }
    }

    /// Replaces index `i` by `moved[i]`. The number of pairs stays the same.
    pub(super) fn move_all(&mut self, moved: &[u32]) {
        match self {
            Places::Short(places) => places.iter_mut().for_each(|place| *place = moved[usize::from(*place)] as u16),
            Places::Long(places) => places.iter_mut().for_each(|place| *place = moved[*place as usize]),
        }
    }

    /// Returns the indices with four bytes each.
    #[cfg(test)]
    pub(super) fn to_long(&self) -> Vec<u32> {
        match self {
            Places::Short(places) => places.iter().map(|&place| place.into()).collect(),
            Places::Long(places) => places.clone(),
        }
    }
}
