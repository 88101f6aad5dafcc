//! Sites of hydrogen bonds in water bridges, and the bonds that can be part of a bridge.

use crate::error::{Error, Result};
use crate::kernel::group::Group;

/// Value for a missing heavy atom: the acceptor's end of a bond has none.
pub const NO_ATOM: u32 = u32::MAX;

/// Bit that marks a site of the first group.
pub(super) const FIRST: u8 = 1;
/// Bit that marks a site of the second group.
pub(super) const SECOND: u8 = 2;
/// Bit that marks a site of the water.
pub(super) const WATER: u8 = 4;

/// Heavy atoms that donate or accept hydrogen bonds.
#[derive(Debug, Clone, Default)]
pub struct BridgeSites {
    /// The indices of the atoms in a frame, in ascending order.
    pub atoms: Vec<u32>,
    /// The number of the residue of each atom.
    pub residues: Vec<u32>,
    /// Whether each atom is an acceptor.
    pub are_acceptors: Vec<bool>,
    /// The site and the index of each hydrogen of a donor, in ascending order.
    pub hydrogens: Vec<[u32; 2]>,
}

/// Criteria for a hydrogen bond of a bridge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BridgeCriteria {
    /// The longest distance between the acceptor and the hydrogen or donor, in Å.
    pub distance: f64,
    /// Whether the distance is measured from the donor; otherwise, it is measured from the hydrogen.
    pub is_heavy: bool,
    /// The lower limit of the angle of donor, hydrogen and acceptor, in degrees.
    pub angle: f64,
}

/// Criteria for the chains of hydrogen bonds that form a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chains {
    /// The largest number of waters in a bridge.
    pub order: u32,
    /// Whether atoms of the first group may donate and atoms of the second group accept.
    pub first_donates: bool,
    /// Whether atoms of the first group may accept and atoms of the second group donate.
    pub first_accepts: bool,
}

/// Sites, and an index of the sites of each residue.
#[derive(Debug)]
pub(super) struct SiteLayout {
    pub(super) sites: BridgeSites,
    /// The site of each atom of the three groups.
    pub(super) of_groups: [Vec<u32>; 3],
    /// For each site, the index of its first hydrogen, followed by the number of all hydrogens.
    hydrogen_starts: Vec<u32>,
    /// The sites, sorted by residue.
    by_residue: Vec<u32>,
    /// For each residue, the index of its first site in `by_residue`, followed by the number of all sites.
    residue_starts: Vec<u32>,
}

impl SiteLayout {
    pub(super) fn new(n_atoms: usize, sites: BridgeSites, groups: &[Group; 3]) -> Result<Self> {
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

    pub(super) fn n_residues(&self) -> usize {
        self.residue_starts.len() - 1
    }

    #[inline(always)]
    pub(super) fn hydrogens_of(&self, site: u32) -> std::ops::Range<u32> {
        self.hydrogen_starts[site as usize]..self.hydrogen_starts[site as usize + 1]
    }

    #[inline(always)]
    pub(super) fn sites_of(&self, residue: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|k| self.residue_starts[residue as usize + k] as usize);
        &self.by_residue[start..end]
    }
}

impl Chains {
    /// Returns whether a donor and an acceptor with these memberships may be bonded. At least one of them must be in the first
    /// or second group.
    #[inline(always)]
    pub(super) fn link(self, donor: u8, acceptor: u8) -> bool {
        let leads = |from: u8, to: u8| {
            (from & FIRST != 0 && to & (SECOND | WATER) != 0) || (from & WATER != 0 && to & SECOND != 0)
        };
        (self.first_donates && leads(donor, acceptor)) || (self.first_accepts && leads(acceptor, donor))
    }
}
