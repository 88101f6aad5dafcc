//! Water bridges: chains of hydrogen bonds from one group through water to another group, in each frame.

mod network;
mod search;
mod sites;
mod table;

use std::sync::Arc;

use network::Network;
use search::{Atoms, Find, Search};
pub use sites::{BridgeCriteria, BridgeSites, Chains, NO_ATOM};
use sites::{FIRST, SECOND, SiteLayout, WATER};
pub use table::{BridgeBonds, BridgeTable};

use super::group::Group;
use super::images::{Shortest, exceeded_radius};
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots, Value};
use crate::simd::Level;

/// Largest number of waters in a bridge. The number of chains grows exponentially with it.
pub const MOST_WATERS: u32 = 10;

/// Networks of the bridges of each frame.
///
/// The values of a frame are the number of bridges, the number of their hydrogen bonds at the first group, the number of all
/// their hydrogen bonds, and the number of pairs of consecutive bonds. The computation's own value is a [`BridgeTable`].
#[derive(Debug)]
pub struct WaterBridges {
    n_atoms: usize,
    layout: Arc<SiteLayout>,
    /// The first group, the second group and the water.
    groups: [Group; 3],
    criteria: BridgeCriteria,
    chains: Chains,
    shortest: Shortest,
    level: Level,
    /// The groups to which each site belongs, as a bit mask.
    members: Vec<u8>,
    search: Search,
    network: Network,
}

impl WaterBridges {
    /// Creates the computation for sites among `n_atoms` atoms. `groups` contains the first group, the second group and the
    /// water; their atoms must be sites.
    ///
    /// Returns an error if a site or a hydrogen does not exist, if sites or hydrogens are not in ascending order, if a member
    /// of a group is not a site, or if the criteria or the order are not valid.
    pub fn new(
        n_atoms: usize,
        sites: BridgeSites,
        groups: [Group; 3],
        criteria: BridgeCriteria,
        chains: Chains,
        shortest: Shortest,
    ) -> Result<Self> {
        let BridgeCriteria { distance, angle, .. } = criteria;
        if !(distance.is_finite() && distance > 0.0 && angle.is_finite() && angle >= 0.0) {
            let message =
                format!("a hydrogen bond of {distance} Å and {angle} degrees: expected a distance and an angle");
            return Err(Error::mismatch(message));
        }
        if chains.order > MOST_WATERS {
            return Err(Error::mismatch(format!("bridges of {} waters: expected {MOST_WATERS} at most", chains.order)));
        }
        let layout = Arc::new(SiteLayout::new(n_atoms, sites, &groups)?);
        let level = Level::detect();
        let (members, search, network) = (Vec::new(), Search::default(), Network::default());
        Ok(WaterBridges { n_atoms, layout, groups, criteria, chains, shortest, level, members, search, network })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        WaterBridges { level, ..self }
    }

    /// Finds the groups to which each site belongs in a frame.
    fn find_members(&mut self, batch: &FrameBatch, i: usize) -> Result<()> {
        self.members.clear();
        self.members.resize(self.layout.sites.atoms.len(), 0);
        let roles = [FIRST, SECOND, if self.chains.order > 0 { WATER } else { 0 }];
        for ((group, of_group), role) in self.groups.iter_mut().zip(&self.layout.of_groups).zip(roles) {
            match group.current(batch, i)? {
                None => of_group.iter().for_each(|&site| self.members[site as usize] |= role),
                Some(numbers) => {
                    numbers.iter().for_each(|&number| self.members[of_group[number as usize] as usize] |= role);
                }
            }
        }
        Ok(())
    }
}

impl Clone for WaterBridges {
    fn clone(&self) -> Self {
        WaterBridges {
            layout: Arc::clone(&self.layout),
            groups: self.groups.clone(),
            members: Vec::new(),
            search: Search::default(),
            network: Network::default(),
            ..*self
        }
    }
}

impl Computation for WaterBridges {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(4)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(BridgeTable::default()))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let images = self.shortest.of(batch, i)?;
            let distance = self.criteria.distance;
            if let Some(radius) = exceeded_radius(images.as_ref(), distance) {
                return Err(Error::mismatch(format!("hydrogen bonds may be {distance} Å long, more than half the shortest lattice vector of the \
                     cell, {radius:.3} Å: several images of an acceptor would be bonded. Shorten the distance, or repeat the cell in \
                     the trajectory")).at_frame(batch.header(i).index));
            }
            let atoms = Atoms { columns: batch.columns(i), images };
            if !atoms.are_finite() {
                return Err(not_finite(batch, i, "positions"));
            }
            self.find_members(batch, i)?;
            let WaterBridges { layout, criteria, chains, level, members, search, network, .. } = self;
            let is_placed = level.run(Find { layout, criteria: *criteria, chains: *chains, members, search, atoms });
            if !is_placed {
                return Err(not_finite(batch, i, "distances"));
            }
            network.solve(search.bonds(), layout, members, *chains);
            let table = slots.own.as_mut().and_then(|own| own.here::<BridgeTable>());
            let table = table.ok_or_else(|| Error::worker("water bridges have no room for their table"))?;
            let numbers = network.write(table, chains.order);
            slots.row(i).copy_from_slice(&numbers);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
