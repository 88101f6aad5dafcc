//! Search for the hydrogen bonds that can be part of a bridge: bonds of the groups, and bonds of waters near one of the groups.

use super::sites::{BridgeCriteria, Chains, FIRST, SECOND, SiteLayout, WATER};
use crate::frame::Columns;
use crate::kernel::hydrogen_bonds::angle;
use crate::neighbours::{Neighbours, Run, Visit};
use crate::periodic::Periodic;
use crate::simd::{Lanes, Operation};

/// Number of distances that are computed together.
const MOST: usize = 256;

/// A hydrogen bond, given by the number of the hydrogen and the site of the acceptor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bond {
    pub(super) hydrogen: u32,
    pub(super) acceptor: u32,
    /// Distance, in Å.
    pub(super) distance: f64,
    /// Angle, in degrees.
    pub(super) angle: f64,
}

/// The atoms of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atoms<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) images: Option<Periodic>,
}

impl Atoms<'_> {
    #[inline(always)]
    fn at(&self, atom: u32) -> [f64; 3] {
        let Columns { x, y, z } = self.columns;
        [x, y, z].map(|column| f64::from(column[atom as usize]))
    }

    #[inline(always)]
    fn distance(&self, from: [f64; 3], to: [f64; 3]) -> f64 {
        let d = std::array::from_fn(|axis| to[axis] - from[axis]);
        let [x, y, z] = self.images.as_ref().map_or(d, |images| images.shortest(d));
        (x * x + y * y + z * z).sqrt()
    }

    /// Returns whether all coordinates are finite.
    pub(super) fn are_finite(&self) -> bool {
        let Columns { x, y, z } = self.columns;
        [x, y, z].into_iter().all(|column| column.iter().fold(true, |all, value| all & value.is_finite()))
    }
}

/// Working memory of the search that is reused from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The hydrogens of waters.
    hydrogens: Placed,
    /// All acceptors.
    acceptors: Placed,
    near: Vec<u32>,
    bonds: Vec<Bond>,
    /// Residues of waters whose bonds with other waters are searched next.
    layer: Vec<u32>,
    /// Residues of waters that were found in the current step.
    next: Vec<u32>,
    /// Residues of waters bonded to the group from which the search does not start.
    other: Vec<u32>,
    /// Whether the search has reached each residue.
    is_reached: Vec<bool>,
}

impl Search {
    /// Returns the bonds that were found, sorted by hydrogen and acceptor.
    pub(super) fn bonds(&self) -> &[Bond] {
        &self.bonds
    }
}

/// Numbered points, sorted into cells.
#[derive(Debug, Default)]
struct Placed {
    columns: [Vec<f64>; 3],
    numbers: Vec<u32>,
    neighbours: Neighbours,
}

impl Placed {
    /// Places points with these numbers, and returns whether all are finite.
    fn place(
        &mut self,
        numbers: impl Iterator<Item = u32>,
        point: impl Fn(u32) -> [f64; 3],
        images: Option<Periodic>,
        distance: f64,
    ) -> bool {
        self.numbers.clear();
        self.numbers.extend(numbers);
        self.columns.iter_mut().for_each(Vec::clear);
        for &number in &self.numbers {
            self.columns.iter_mut().zip(point(number)).for_each(|(column, value)| column.push(value));
        }
        let is_placed = self.numbers.is_empty()
            || self.neighbours.place(self.columns.each_ref().map(|column| &column[..]), images, distance);
        if is_placed && !self.numbers.is_empty() {
            self.neighbours.renumber(&self.numbers);
        }
        is_placed
    }

    /// Finds the numbers of the points that may be within a distance of a point.
    #[inline(always)]
    fn find(&mut self, point: [f64; 3], distance: f64, near: &mut Vec<u32>) {
        near.clear();
        if !self.numbers.is_empty() {
            // The limit has a small margin, because the distance to an image may be measured from either atom.
            let most = distance * distance * (1.0 + 1e-9) + 1e-9;
            self.neighbours.near(0, point, &mut Near { most, squares: [0.0; MOST], near });
        }
    }
}

struct Near<'a> {
    most: f64,
    squares: [f64; MOST],
    near: &'a mut Vec<u32>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, _from: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (&to, square) in run.places.iter().zip(self.squares) {
                if square <= self.most {
                    self.near.push(to);
                }
            }
        }
    }
}

/// Operation that finds the hydrogen bonds of a frame and returns whether all coordinates are small enough.
pub(super) struct Find<'a> {
    pub(super) layout: &'a SiteLayout,
    pub(super) criteria: BridgeCriteria,
    pub(super) chains: Chains,
    pub(super) members: &'a [u8],
    pub(super) search: &'a mut Search,
    pub(super) atoms: Atoms<'a>,
}

impl Operation for Find<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Find { layout, criteria, chains, members, search, atoms } = self;
        let Search { hydrogens, acceptors, near, bonds, layer, next, other, is_reached } = search;
        let (sites, distance) = (&layout.sites, criteria.distance);
        let role = |site: u32| members[site as usize];
        let donor = |hydrogen: u32| sites.hydrogens[hydrogen as usize][0];
        let site_at = |site: u32| atoms.at(sites.atoms[site as usize]);
        let hydrogen_at = |hydrogen: u32| atoms.at(sites.hydrogens[hydrogen as usize][1]);
        // Returns the point from which the distance of a hydrogen bond is measured.
        let origin = |hydrogen: u32| if criteria.is_heavy { site_at(donor(hydrogen)) } else { hydrogen_at(hydrogen) };
        let bond = |hydrogen: u32, acceptor: u32| {
            let apart = atoms.distance(origin(hydrogen), site_at(acceptor));
            if donor(hydrogen) == acceptor || apart > distance {
                return None;
            }
            let angle = angle([site_at(donor(hydrogen)), hydrogen_at(hydrogen), site_at(acceptor)], atoms.images);
            (angle > criteria.angle).then_some(Bond { hydrogen, acceptor, distance: apart, angle })
        };
        let every = || 0..sites.atoms.len() as u32;
        let accepts = |site: u32| sites.are_acceptors[site as usize];
        let of_water = every().filter(|&site| role(site) & WATER != 0).flat_map(|site| layout.hydrogens_of(site));
        let all = every().filter(|&site| role(site) != 0 && accepts(site));
        let is_placed = hydrogens.place(of_water, origin, atoms.images, distance)
            && acceptors.place(all, site_at, atoms.images, distance);
        if !is_placed {
            return false;
        }
        bonds.clear();
        for site in every().filter(|&site| role(site) & (FIRST | SECOND) != 0) {
            for hydrogen in layout.hydrogens_of(site) {
                acceptors.find(origin(hydrogen), distance, near);
                let linked = near.iter().filter(|&&to| chains.link(role(site), role(to)));
                bonds.extend(linked.filter_map(|&to| bond(hydrogen, to)));
            }
            if accepts(site) {
                hydrogens.find(site_at(site), distance, near);
                // Donors that are also in one of these groups find their acceptors themselves.
                let linked = near.iter().filter(|&&from| {
                    role(donor(from)) & (FIRST | SECOND) == 0 && chains.link(role(donor(from)), role(site))
                });
                bonds.extend(linked.filter_map(|&from| bond(from, site)));
            }
        }
        if chains.order > 1 {
            is_reached.clear();
            is_reached.resize(layout.n_residues(), false);
            first_waters(bonds, layout, members, chains, [&mut *layer, &mut *other]);
            // A bond between waters can only end in the second group if this group contains waters.
            let has_waters = members.iter().any(|role| role & (SECOND | WATER) == SECOND | WATER);
            if layer.len() > other.len() && !has_waters {
                std::mem::swap(layer, other);
            }
            layer.iter().for_each(|&residue| is_reached[residue as usize] = true);
            // A bridge has waters at both ends. Waters that are more than `order` waters away from one end cannot be part of a
            // bridge.
            let n_layers = if has_waters { chains.order } else { chains.order - 1 };
            for _ in 0..n_layers {
                next.clear();
                let mut reach = |site: u32| {
                    let residue = sites.residues[site as usize];
                    if !std::mem::replace(&mut is_reached[residue as usize], true) {
                        next.push(residue);
                    }
                };
                let waters = layer.iter().flat_map(|&residue| layout.sites_of(residue));
                for &site in waters.filter(|&&site| role(site) & WATER != 0) {
                    for hydrogen in layout.hydrogens_of(site) {
                        acceptors.find(origin(hydrogen), distance, near);
                        for &to in near.iter().filter(|&&to| role(to) & WATER != 0) {
                            if let Some(found) = bond(hydrogen, to) {
                                bonds.push(found);
                                reach(to);
                            }
                        }
                    }
                    if accepts(site) {
                        hydrogens.find(site_at(site), distance, near);
                        for &from in near.iter() {
                            if let Some(found) = bond(from, site) {
                                bonds.push(found);
                                reach(donor(from));
                            }
                        }
                    }
                }
                std::mem::swap(layer, next);
            }
        }
        // Bonds between waters may be found from both sides.
        bonds.sort_unstable_by_key(|bond| (bond.hydrogen, bond.acceptor));
        bonds.dedup_by_key(|bond| (bond.hydrogen, bond.acceptor));
        true
    }
}

/// Finds the residues of the waters that are bonded to the first group and to the second group.
fn first_waters(bonds: &[Bond], layout: &SiteLayout, members: &[u8], chains: Chains, waters: [&mut Vec<u32>; 2]) {
    let [of_first, of_second] = waters;
    of_first.clear();
    of_second.clear();
    for bond in bonds {
        let donor = layout.sites.hydrogens[bond.hydrogen as usize][0];
        let [gives, takes] = [donor, bond.acceptor].map(|site| members[site as usize]);
        let [of_donor, of_acceptor] = [donor, bond.acceptor].map(|site| layout.sites.residues[site as usize]);
        if chains.first_donates {
            of_first.extend((gives & FIRST != 0 && takes & WATER != 0).then_some(of_acceptor));
            of_second.extend((gives & WATER != 0 && takes & SECOND != 0).then_some(of_donor));
        }
        if chains.first_accepts {
            of_first.extend((gives & WATER != 0 && takes & FIRST != 0).then_some(of_donor));
            of_second.extend((gives & SECOND != 0 && takes & WATER != 0).then_some(of_acceptor));
        }
    }
    for residues in [of_first, of_second] {
        residues.sort_unstable();
        residues.dedup();
    }
}
