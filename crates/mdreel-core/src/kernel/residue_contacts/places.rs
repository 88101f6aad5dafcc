//! Places in a list of pairs, in as few bytes as the number of pairs allows.

use serde::{Deserialize, Serialize};

/// The most pairs whose places have two bytes.
const MOST_SHORT: usize = 1 << 16;

/// Places in a list of pairs: two bytes each for up to 65,536 pairs, and four bytes each for more. The number of bytes
/// depends on nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Places {
    /// Two bytes each.
    Short(Vec<u16>),
    /// Four bytes each.
    Long(Vec<u32>),
}

impl Default for Places {
    fn default() -> Self {
        Places::Short(Vec::new())
    }
}

impl Places {
    /// Makes room for the places of `n_pairs` pairs. The number of pairs never decreases.
    pub(super) fn widen_for(&mut self, n_pairs: usize) {
        if let Places::Short(places) = self
            && n_pairs > MOST_SHORT
        {
            *self = Places::Long(places.iter().map(|&place| place.into()).collect());
        }
    }

    /// Adds a place. The caller has made room for it.
    pub(super) fn push(&mut self, place: u32) {
        match self {
            Places::Short(places) => places.push(place as u16),
            Places::Long(places) => places.push(place),
        }
    }

    /// Adds the places in another list, after replacing place `i` by `moved[i]`. The caller has made room for them.
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

    /// Replaces place `i` by `moved[i]`. The number of pairs stays the same.
    pub(super) fn move_all(&mut self, moved: &[u32]) {
        match self {
            Places::Short(places) => places.iter_mut().for_each(|place| *place = moved[usize::from(*place)] as u16),
            Places::Long(places) => places.iter_mut().for_each(|place| *place = moved[*place as usize]),
        }
    }

    /// The places with four bytes each.
    #[cfg(test)]
    pub(super) fn to_long(&self) -> Vec<u32> {
        match self {
            Places::Short(places) => places.iter().map(|&place| place.into()).collect(),
            Places::Long(places) => places.clone(),
        }
    }
}
