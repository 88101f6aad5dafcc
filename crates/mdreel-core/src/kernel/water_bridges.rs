//! Water bridges: chains of hydrogen bonds that lead from one group through water to another, in each frame.

mod network;
mod search;
mod table;

use std::sync::Arc;

use network::Network;
use search::{Atoms, Find, Search};
pub use table::{BridgeBonds, BridgeTable};

use super::group::Group;
use super::images::{Shortest, exceeded_radius};
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots, Value};
use crate::simd::Level;

/// The most waters that a bridge may have: the number of chains grows exponentially with it.
pub const MOST_WATERS: u32 = 10;

/// The heavy atom that a bond has on the side of its acceptor: none.
pub const NO_ATOM: u32 = u32::MAX;

/// Membership of a site in the first group, the second group, and the water.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
const WATER: u8 = 4;

/// Heavy atoms that donate or accept hydrogen bonds.
#[derive(Debug, Clone, Default)]
pub struct BridgeSites {
    /// The places of the atoms in a frame, ascending.
    pub atoms: Vec<u32>,
    /// The number of the residue of each.
    pub residues: Vec<u32>,
    /// Whether each is an acceptor.
    pub are_acceptors: Vec<bool>,
    /// The site and the place of each hydrogen of a donor, ascending.
    pub hydrogens: Vec<[u32; 2]>,
}

/// Criteria for a hydrogen bond of a bridge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BridgeCriteria {
    /// The longest distance of the acceptor, Å.
    pub distance: f64,
    /// Whether that is its distance from the donor, not from the hydrogen.
    pub is_heavy: bool,
    /// Lower limit of the angle of donor, hydrogen and acceptor, degrees.
    pub angle: f64,
}

/// Which chains of hydrogen bonds are bridges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chains {
    /// The most waters in a bridge.
    pub order: u32,
    /// Whether atoms of the first group may donate, and those of the second accept.
    pub first_donates: bool,
    /// Whether atoms of the first group may accept, and those of the second donate.
    pub first_accepts: bool,
}

/// Networks of the bridges of each frame: the number of bridges, of their hydrogen bonds at the first group, of all their
/// hydrogen bonds, and of the pairs of consecutive ones; and as the own value a [`BridgeTable`].
#[derive(Debug)]
pub struct WaterBridges {
    n_atoms: usize,
    layout: Arc<SiteLayout>,
    /// The first group, the second group, and the water.
    groups: [Group; 3],
    criteria: BridgeCriteria,
    chains: Chains,
    shortest: Shortest,
    level: Level,
    /// Of which groups each site is a member.
    members: Vec<u8>,
    search: Search,
    network: Network,
}

/// Sites, and where those of each residue are.
#[derive(Debug)]
struct SiteLayout {
    sites: BridgeSites,
    /// The site of each member of the groups.
    of_groups: [Vec<u32>; 3],
    /// Where the hydrogens of each site begin, and the end of all.
    hydrogen_starts: Vec<u32>,
    /// Sites sorted by residue, and where those of each residue begin.
    by_residue: Vec<u32>,
    residue_starts: Vec<u32>,
}

impl WaterBridges {
    /// Creates the computation for sites among `n_atoms` atoms and for the first group, the second group, and the water,
    /// whose places are those of sites. Returns an error if a site or a hydrogen does not exist, if sites or hydrogens are
    /// not in ascending order, if a member of a group is no site, or if the criteria or the order are not valid.
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

    /// The same with the vector instructions of `level`. The bits do not depend on it.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        WaterBridges { level, ..self }
    }

    /// Finds out of which groups each site is a member in a frame.
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

impl SiteLayout {
    fn new(n_atoms: usize, sites: BridgeSites, groups: &[Group; 3]) -> Result<Self> {
        let BridgeSites { atoms, residues, are_acceptors, hydrogens } = &sites;
        let n_sites = atoms.len();
        let used = atoms.iter().chain(hydrogens.iter().map(|[_, hydrogen]| hydrogen));
        if let Some(atom) = used.copied().find(|&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a water bridge needs atom {atom} of {n_atoms}")));
        }
        let is_ascending = atoms.is_sorted_by(|one, next| one < next) && hydrogens.is_sorted_by(|one, next| one < next);
        let is_whole = residues.len() == n_sites && are_acceptors.len() == n_sites;
        if !is_ascending || !is_whole || hydrogens.iter().any(|&[site, _]| site as usize >= n_sites) {
            return Err(Error::mismatch("sites of water bridges must be in ascending order, with a residue each"));
        }
        let mut of_groups = [const { Vec::new() }; 3];
        for (of_group, group) in of_groups.iter_mut().zip(groups) {
            for place in group.places().iter() {
                let site = atoms.binary_search(place);
                let site = site.map_err(|_| Error::mismatch(format!("atom {place} of a group is not a site")))?;
                of_group.push(site as u32);
            }
        }
        let starts = |n: usize, keys: &mut dyn Iterator<Item = u32>| {
            let mut starts = vec![0; n + 1];
            keys.for_each(|key| starts[key as usize + 1] += 1);
            (1..=n).for_each(|k| starts[k] += starts[k - 1]);
            starts
        };
        let n_residues = residues.iter().max().map_or(0, |&last| last as usize + 1);
        let hydrogen_starts = starts(n_sites, &mut hydrogens.iter().map(|&[site, _]| site));
        let residue_starts = starts(n_residues, &mut residues.iter().copied());
        let mut by_residue: Vec<u32> = (0..n_sites as u32).collect();
        by_residue.sort_by_key(|&site| residues[site as usize]);
        Ok(SiteLayout { sites, of_groups, hydrogen_starts, by_residue, residue_starts })
    }

    fn n_residues(&self) -> usize {
        self.residue_starts.len() - 1
    }

    #[inline(always)]
    fn hydrogens_of(&self, site: u32) -> std::ops::Range<u32> {
        self.hydrogen_starts[site as usize]..self.hydrogen_starts[site as usize + 1]
    }

    #[inline(always)]
    fn sites_of(&self, residue: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|k| self.residue_starts[residue as usize + k] as usize);
        &self.by_residue[start..end]
    }
}

impl Chains {
    /// Whether a donor and an acceptor with these memberships may be bonded, at least one of them in a group.
    #[inline(always)]
    fn link(self, donor: u8, acceptor: u8) -> bool {
        let leads = |from: u8, to: u8| {
            (from & FIRST != 0 && to & (SECOND | WATER) != 0) || (from & WATER != 0 && to & SECOND != 0)
        };
        (self.first_donates && leads(donor, acceptor)) || (self.first_accepts && leads(acceptor, donor))
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
