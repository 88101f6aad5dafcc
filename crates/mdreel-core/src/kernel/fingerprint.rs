//! Interaction fingerprints: the residues of two groups that interact in each frame, and the kinds of their interactions.

mod bridges;
mod interaction;
mod rule;
mod search;
mod sites;
mod table;

use std::sync::Arc;

pub use bridges::Bridges;
use bridges::Network;
pub use interaction::Interaction;
pub use rule::Rule;
use search::Search;
use sites::Atoms;
pub use sites::Sites;
use table::Occurrence;
pub use table::{Column, Entries, FingerprintTable, Occurrences};

use super::images::{Shortest, exceeded_radius};
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots, Value};
use crate::simd::{Lanes, Level, Operation};

/// Interactions between the residues of two groups in each frame. A residue does not interact with itself.
///
/// The values of a frame are the number of different interactions between two residues and the number of their occurrences. The
/// computation's own value is a [`FingerprintTable`].
#[derive(Debug)]
pub struct Fingerprint {
    n_atoms: usize,
    interactions: Arc<Vec<Interaction>>,
    bridges: Option<Arc<Bridges>>,
    /// The longest distance of two interacting sites, in Å.
    reach: f64,
    shortest: Shortest,
    is_once: bool,
    keeps_occurrences: bool,
    level: Level,
    work: Work,
}

/// Working memory that is reused from frame to frame.
#[derive(Debug, Default)]
struct Work {
    search: Search,
    network: Network,
    found: Vec<Occurrence>,
}

impl Fingerprint {
    /// Creates the computation for interactions among `n_atoms` atoms.
    ///
    /// With `is_once`, a pair counts only if its first residue has the smaller number. With `keeps_occurrences`, the table also
    /// lists the sites of each occurrence. Returns an error if an atom does not exist, a site does not have the atoms that its
    /// rule needs, or radii are missing.
    pub fn new(
        n_atoms: usize,
        interactions: Vec<Interaction>,
        shortest: Shortest,
        is_once: bool,
        keeps_occurrences: bool,
    ) -> Result<Self> {
        let reaches: Result<Vec<f64>> = interactions.iter().map(|one| one.checked_reach(n_atoms)).collect();
        let reach = reaches?.into_iter().fold(0.0, f64::max);
        let (level, work) = (Level::detect(), Work::default());
        let interactions = Arc::new(interactions);
        Ok(Fingerprint {
            n_atoms,
            interactions,
            bridges: None,
            reach,
            shortest,
            is_once,
            keeps_occurrences,
            level,
            work,
        })
    }

    /// Adds bridges through waters. Returns an error if an atom does not exist, a site does not have the atoms that a hydrogen
    /// bond needs, or the numbers of waters are not valid.
    pub fn with_bridges(self, bridges: Bridges) -> Result<Self> {
        let reach = self.reach.max(bridges.checked_reach(self.n_atoms)?);
        Ok(Fingerprint { bridges: Some(Arc::new(bridges)), reach, ..self })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        Fingerprint { level, ..self }
    }
}

impl Clone for Fingerprint {
    fn clone(&self) -> Self {
        let (interactions, bridges) = (Arc::clone(&self.interactions), self.bridges.clone());
        Fingerprint { interactions, bridges, work: Work::default(), ..*self }
    }
}

impl Computation for Fingerprint {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(2)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(FingerprintTable::new(self.keeps_occurrences, self.bridges.is_some())))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let images = self.shortest.of(batch, i)?;
            if let Some(radius) = exceeded_radius(images.as_ref(), self.reach) {
                return Err(Error::mismatch(format!("interactions may be {} Å long, more than half the shortest lattice vector of the cell, \
                     {radius:.3} Å: several images of a residue would interact. Shorten the distances, or repeat the cell in \
                     the trajectory", self.reach)).at_frame(batch.header(i).index));
            }
            let atoms = Atoms { columns: batch.columns(i), images };
            if !atoms.are_finite() {
                return Err(not_finite(batch, i, "positions"));
            }
            let (level, Work { found, network, .. }) = (self.level, &mut self.work);
            found.clear();
            network.clear();
            let is_placed = level.run(Find { fingerprint: self, atoms });
            if !is_placed {
                return Err(not_finite(batch, i, "distances"));
            }
            let Work { found, network, .. } = &mut self.work;
            // The search finds occurrences in the order of its cells.
            found.sort_unstable_by(|one, other| {
                (one.column, one.sites)
                    .cmp(&(other.column, other.sites))
                    .then_with(|| one.distance.total_cmp(&other.distance))
                    .then_with(|| network.waters_of(one).cmp(network.waters_of(other)))
            });
            let table = slots.own.as_mut().and_then(|own| own.here::<FingerprintTable>());
            let table = table.ok_or_else(|| Error::worker("interactions have no room for their table"))?;
            let n_entries = table.add(found, |occurrence| network.waters_of(occurrence));
            slots.row(i).copy_from_slice(&[n_entries as f64, found.len() as f64]);
        }
        Ok(())
    }
}

/// Operation that finds the occurrences of all interactions in a frame and returns whether all distances are finite.
struct Find<'a> {
    fingerprint: &'a mut Fingerprint,
    atoms: Atoms<'a>,
}

impl Operation for Find<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Find { fingerprint: Fingerprint { interactions, bridges, is_once, work, .. }, atoms } = self;
        let Work { search, network, found } = work;
        for interaction in interactions.iter() {
            let is_placed = search.each_pair(interaction, &atoms, |[first, second], sites, distance| {
                if !*is_once || first < second {
                    let column = [first, second, interaction.number];
                    found.push(Occurrence { column, sites, distance, waters: [0, 0] });
                }
            });
            if !is_placed {
                return false;
            }
        }
        let Some(bridges) = bridges.as_deref() else { return true };
        let Bridges { number, waters, of_first, of_second, of_waters } = bridges;
        let [of_first_sites, of_second_sites] = bridges.site_offsets();
        let mut is_placed = true;
        for (bond, offset) in of_first.iter().zip(of_first_sites) {
            is_placed &= search.each_pair(bond, &atoms, |residues, [site, _], distance| {
                network.add_first(residues, offset + site, distance);
            });
        }
        for (bond, offset) in of_second.iter().zip(of_second_sites) {
            is_placed &= search.each_pair(bond, &atoms, |residues, [_, site], distance| {
                network.add_second(residues, offset + site, distance);
            });
        }
        if let Some([accepting, donating]) = of_waters {
            let is_both = accepting.rule == donating.rule;
            is_placed &= search.each_pair(accepting, &atoms, |[from, to], _, distance| {
                network.add_waters([from, to], distance);
                if is_both {
                    network.add_waters([to, from], distance);
                }
            });
            if !is_both {
                is_placed &= search.each_pair(donating, &atoms, |residues, _, distance| {
                    network.add_waters(residues, distance);
                });
            }
        }
        if is_placed {
            network.follow(*number, *waters, *is_once, found);
        }
        is_placed
    }
}

#[cfg(test)]
mod bridge_tests;
#[cfg(test)]
mod tests;
