//! Bridges of hydrogen bonds through waters, between the residues of two groups.
//!
//! A bridge is a chain of hydrogen bonds from a residue of the first group, through different waters, to a residue of the
//! second group. The definition follows `WaterBridge` of ProLIF 2 (C. Bouysset and S. Fiorucci, J. Cheminform. 13, 72, 2021).

use super::interaction::Interaction;
use super::rule::Rule;
use super::table::Occurrence;
use crate::error::{Error, Result};
use crate::kernel::water_bridges::MOST_WATERS;

/// Value for the number of waters to the second group if it cannot be reached.
const FAR: u32 = u32::MAX;

/// Criteria for the chains of hydrogen bonds that form a bridge.
#[derive(Debug, Clone)]
pub struct Bridges {
    /// The number of the interaction.
    pub number: u32,
    /// The smallest and the largest number of waters in a bridge.
    pub waters: [u32; 2],
    /// Hydrogen bonds between the first group and waters: those in which the first group accepts, and those in which it
    /// donates. Waters are the second group of these interactions.
    pub of_first: [Interaction; 2],
    /// Hydrogen bonds between waters and the second group: those in which the water accepts, and those in which it donates.
    /// Waters are the first group of these interactions.
    pub of_second: [Interaction; 2],
    /// Hydrogen bonds between waters: those in which the water nearer to the first group accepts, and those in which it
    /// donates. Required if bridges may have more than one water.
    pub of_waters: Option<[Interaction; 2]>,
}

impl Bridges {
    /// Returns the longest distance of two sites, in Å. Returns an error if a bond or a number of waters is not valid.
    pub(super) fn checked_reach(&self, n_atoms: usize) -> Result<f64> {
        let [fewest, most] = self.waters;
        if fewest == 0 || fewest > most || most > MOST_WATERS || (most > 1 && self.of_waters.is_none()) {
            return Err(Error::mismatch(format!("there are no bridges of {fewest} to {most} waters")));
        }
        let mut reach = 0f64;
        for bond in self.of_first.iter().chain(&self.of_second).chain(self.of_waters.iter().flatten()) {
            if !matches!(bond.rule, Rule::Angle { .. }) {
                return Err(Error::mismatch("the bonds of water bridges must be hydrogen bonds"));
            }
            reach = reach.max(bond.checked_reach(n_atoms)?);
        }
        Ok(reach)
    }

    /// Returns the index of the first site of each hydrogen bond of `of_first` and `of_second`, among all sites of the group.
    /// The acceptors of a group come before its donors.
    pub(super) fn site_offsets(&self) -> [[u32; 2]; 2] {
        [[0, self.of_first[0].parts[0].len() as u32], [self.of_second[1].parts[0].len() as u32, 0]]
    }
}

/// A hydrogen bond of a water, in the direction from the first group to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    residues: [u32; 2],
    /// The site in a group; 0 for bonds between waters.
    site: u32,
    distance: f64,
}

/// Working memory that is reused from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Network {
    of_first: Vec<Link>,
    of_second: Vec<Link>,
    of_waters: Vec<Link>,
    /// The waters with a link towards the second group, in ascending order.
    waters: Vec<u32>,
    /// The smallest number of waters that follow each of these waters in a bridge.
    following: Vec<u32>,
    /// The waters of the current chain.
    passed: Vec<u32>,
    /// The waters of all bridges.
    found: Vec<u32>,
}

impl Network {
    pub(super) fn clear(&mut self) {
        self.of_first.clear();
        self.of_second.clear();
        self.of_waters.clear();
        self.found.clear();
    }

    /// Adds a bond between a residue of the first group and a water.
    pub(super) fn add_first(&mut self, residues: [u32; 2], site: u32, distance: f64) {
        self.of_first.push(Link { residues, site, distance });
    }

    /// Adds a bond between a water and a residue of the second group.
    pub(super) fn add_second(&mut self, residues: [u32; 2], site: u32, distance: f64) {
        self.of_second.push(Link { residues, site, distance });
    }

    /// Adds a bond between a water and the next water.
    pub(super) fn add_waters(&mut self, residues: [u32; 2], distance: f64) {
        self.of_waters.push(Link { residues, site: 0, distance });
    }

    /// Returns the waters of an occurrence, from the first group to the second.
    pub(super) fn waters_of(&self, occurrence: &Occurrence) -> &[u32] {
        let [start, end] = occurrence.waters;
        &self.found[start as usize..end as usize]
    }

    /// Adds an occurrence to `found` for each chain of bonds. With `is_once`, only chains whose first residue has the smaller
    /// number count.
    pub(super) fn follow(&mut self, number: u32, waters: [u32; 2], is_once: bool, found: &mut Vec<Occurrence>) {
        for links in [&mut self.of_first, &mut self.of_second, &mut self.of_waters] {
            links.sort_unstable_by(|one, other| {
                let keys = (one.residues, one.site).cmp(&(other.residues, other.site));
                keys.then(one.distance.total_cmp(&other.distance))
            });
        }
        self.measure(waters[1]);
        for k in 0..self.of_first.len() {
            let Link { residues: [first, water], site, distance } = self.of_first[k];
            self.passed.clear();
            self.step(&Start { number, waters, is_once, first, site }, water, distance, found);
        }
    }

    /// Finds the smallest number of waters that follow each water in a bridge.
    fn measure(&mut self, most: u32) {
        let Network { of_second, of_waters, waters, following, .. } = self;
        waters.clear();
        waters.extend(of_second.iter().chain(&*of_waters).map(|link| link.residues[0]));
        waters.sort_unstable();
        waters.dedup();
        following.clear();
        following.resize(waters.len(), FAR);
        for link in &*of_second {
            if let Ok(at) = waters.binary_search(&link.residues[0]) {
                following[at] = 0;
            }
        }
        for _ in 1..most {
            for link in &*of_waters {
                // A water that is not in the list has no link towards the second group.
                if let [Ok(from), Ok(to)] = link.residues.map(|water| waters.binary_search(&water)) {
                    following[from] = following[from].min(following[to].saturating_add(1));
                }
            }
        }
    }

    /// Extends a chain by a water, unless the chain already contains it or would become too long.
    fn step(&mut self, start: &Start, water: u32, distance: f64, found: &mut Vec<Occurrence>) {
        let Start { number, waters: [fewest, most], is_once, first, site } = *start;
        let left = self.waters.binary_search(&water).map_or(FAR, |at| self.following[at]);
        let is_too_long = left == FAR || self.passed.len() as u32 + 1 + left > most;
        if is_too_long || water == first || self.passed.contains(&water) {
            return;
        }
        self.passed.push(water);
        let n_passed = self.passed.len() as u32;
        if n_passed >= fewest {
            let begin = self.of_second.partition_point(|link| link.residues[0] < water);
            for link in self.of_second[begin..].iter().take_while(|link| link.residues[0] == water) {
                let second = link.residues[1];
                if second != first && (!is_once || first < second) && !self.passed.contains(&second) {
                    let begin = self.found.len() as u32;
                    self.found.extend_from_slice(&self.passed);
                    let (column, sites) = ([first, second, number], [site, link.site]);
                    let (distance, waters) = (distance + link.distance, [begin, self.found.len() as u32]);
                    found.push(Occurrence { column, sites, distance, waters });
                }
            }
        }
        if n_passed < most {
            let mut next = self.of_waters.partition_point(|link| link.residues[0] < water);
            while let Some(&Link { residues: [from, to], distance: longer, .. }) = self.of_waters.get(next)
                && from == water
            {
                self.step(start, to, distance + longer, found);
                next += 1;
            }
        }
        self.passed.pop();
    }
}

/// The start of a chain, and the criteria for bridges.
struct Start {
    number: u32,
    waters: [u32; 2],
    is_once: bool,
    first: u32,
    site: u32,
}
