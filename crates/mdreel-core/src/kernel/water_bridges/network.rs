//! The network of the bridges of a frame: the hydrogen bonds that lead from the first group to the second.

use std::collections::BTreeSet;

use super::search::Bond;
use super::sites::{Chains, FIRST, NO_ATOM, SECOND, SiteLayout, WATER};
use super::table::BridgeTable;

/// Value for the number of bonds to the second group if it cannot be reached.
const FAR: u32 = u32::MAX;

/// A hydrogen bond, in the direction from the first group to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    /// The residues at the start and at the end of the link.
    residues: [u32; 2],
    /// An atom and its heavy atom, or [`NO_ATOM`] for an acceptor, at both ends.
    atoms: [u32; 4],
    distance: f64,
    angle: f64,
}

impl Link {
    /// Returns the heavy atom at the end of the link.
    fn target(&self) -> u32 {
        if self.atoms[3] == NO_ATOM { self.atoms[2] } else { self.atoms[3] }
    }

    /// Returns both atoms of the bond, in ascending order.
    fn ends(&self) -> [u32; 2] {
        let [from, _, to, _] = self.atoms;
        [from.min(to), from.max(to)]
    }
}

/// Working memory that is reused from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Bonds of the first group, sorted by residue.
    starts: Vec<Link>,
    /// Bonds from a water to another water or to the second group, sorted by residue.
    others: Vec<Link>,
    /// For each residue, the index of its first bond in `others`.
    begins: Vec<u32>,
    /// The smallest number of bonds from each residue to the second group; 0 for a residue of the second group that is bonded.
    to_end: Vec<u32>,
    /// Whether each bond belongs to a bridge. Bonds are numbered with `starts` first, followed by `others`.
    is_used: Vec<bool>,
    /// Pairs of consecutive bonds of bridges.
    pairs: BTreeSet<[u32; 2]>,
    route: Vec<u32>,
}

impl Network {
    /// Finds the bonds of all bridges.
    pub(super) fn solve(&mut self, bonds: &[Bond], layout: &SiteLayout, members: &[u8], chains: Chains) {
        self.link(bonds, layout, members, chains);
        self.measure(layout.n_residues(), chains.order);
        self.is_used.clear();
        self.is_used.resize(self.starts.len() + self.others.len(), false);
        self.pairs.clear();
        for start in 0..self.starts.len() {
            self.route.clear();
            self.route.push(start as u32);
            self.follow(self.starts[start].residues[1], chains.order);
        }
    }

    /// Sorts bonds into bonds of the first group and others, and finds the residues in which bridges end.
    fn link(&mut self, bonds: &[Bond], layout: &SiteLayout, members: &[u8], chains: Chains) {
        let Network { starts, others, to_end, .. } = self;
        starts.clear();
        others.clear();
        to_end.clear();
        to_end.resize(layout.n_residues(), FAR);
        let sites = &layout.sites;
        for &Bond { hydrogen, acceptor, distance, angle } in bonds {
            let [donor, hydrogen] = sites.hydrogens[hydrogen as usize];
            let [of_donor, of_acceptor] = [donor, acceptor].map(|site| sites.residues[site as usize]);
            let [donor_atom, acceptor_atom] = [donor, acceptor].map(|site| sites.atoms[site as usize]);
            let atoms = [hydrogen, donor_atom, acceptor_atom, NO_ATOM];
            let given = Link { residues: [of_donor, of_acceptor], atoms, distance, angle };
            let [a, b, c, d] = atoms;
            let taken = Link { residues: [of_acceptor, of_donor], atoms: [c, d, a, b], distance, angle };
            let [donor, acceptor] = [donor, acceptor].map(|site| members[site as usize]);
            let directions =
                [(chains.first_donates, given, donor, acceptor), (chains.first_accepts, taken, acceptor, donor)];
            for (is_allowed, link, from, to) in directions {
                if is_allowed && from & FIRST != 0 && to & (SECOND | WATER) != 0 {
                    starts.push(link);
                }
                if is_allowed && from & WATER != 0 && to & SECOND != 0 {
                    others.push(link);
                }
                if is_allowed && from & (FIRST | WATER) != 0 && to & SECOND != 0 {
                    to_end[link.residues[1] as usize] = 0;
                }
                if chains.order > 1 && from & WATER != 0 && to & WATER != 0 {
                    others.push(link);
                }
            }
        }
        for links in [starts, others] {
            links.sort_unstable_by_key(|link| (link.residues[0], link.atoms));
            links.dedup_by_key(|link| link.atoms);
        }
    }

    /// Finds the bonds in `others` of each residue, and the distance of each residue from the second group, up to `order`
    /// bonds.
    fn measure(&mut self, n_residues: usize, order: u32) {
        let Network { others, begins, to_end, .. } = self;
        begins.clear();
        begins.resize(n_residues + 1, 0);
        others.iter().for_each(|link| begins[link.residues[0] as usize + 1] += 1);
        (1..=n_residues).for_each(|k| begins[k] += begins[k - 1]);
        for _ in 0..order {
            let mut is_nearer = false;
            for link in others.iter() {
                let [from, to] = link.residues.map(|residue| residue as usize);
                if to_end[to] != FAR && to_end[to] + 1 < to_end[from] {
                    to_end[from] = to_end[to] + 1;
                    is_nearer = true;
                }
            }
            if !is_nearer {
                break;
            }
        }
    }

    /// Follows all continuations of a route from a residue. The route so far does not contain any heavy atom twice.
    fn follow(&mut self, residue: u32, order: u32) {
        let left = self.to_end[residue as usize];
        if left == 0 {
            self.keep();
        }
        // A bridge of `order` waters has `order + 1` bonds.
        if left == 0 || left == FAR || self.route.len() as u32 + left > order + 1 {
            return;
        }
        for other in self.begins[residue as usize]..self.begins[residue as usize + 1] {
            let link = self.others[other as usize];
            let target = link.target();
            if self.route.iter().all(|&passed| self.at(passed).target() != target) {
                self.route.push(self.starts.len() as u32 + other);
                self.follow(link.residues[1], order);
                self.route.pop();
            }
        }
    }

    /// Marks the bonds of a route that ends in the second group, unless its last bond connects the same atoms as its first
    /// bond.
    fn keep(&mut self) {
        let Network { is_used, pairs, route, .. } = self;
        let (first, last) = (route[0], route[route.len() - 1]);
        let links = [first, last].map(|number| link_at(&self.starts, &self.others, number));
        if route.len() > 1 && links[0].ends() == links[1].ends() {
            return;
        }
        route.iter().for_each(|&number| is_used[number as usize] = true);
        pairs.extend(route.windows(2).map(|pair| [pair[0], pair[1]]));
    }

    fn at(&self, number: u32) -> &Link {
        link_at(&self.starts, &self.others, number)
    }

    /// Adds the bonds of the frame to a table. Returns the number of bridges, of bonds at the first group, of all bonds, and of
    /// pairs of consecutive bonds.
    pub(super) fn write(&self, table: &mut BridgeTable, order: u32) -> [f64; 4] {
        let mut numbers = vec![0; self.is_used.len()];
        let (mut n_bonds, mut n_starts) = (0, 0);
        for (number, _) in self.is_used.iter().enumerate().filter(|&(_, &is_used)| is_used) {
            let link = self.at(number as u32);
            table.add_bond(link.atoms, [link.distance, link.angle]);
            numbers[number] = n_bonds;
            n_bonds += 1;
            n_starts += u32::from(number < self.starts.len());
        }
        self.pairs.iter().for_each(|pair| table.add_pair(pair.map(|number| numbers[number as usize])));
        [self.n_bridges(order) as f64, f64::from(n_starts), f64::from(n_bonds), self.pairs.len() as f64]
    }

    /// Returns the number of chains of at most `order + 1` consecutive bonds from the first group to the second.
    fn n_bridges(&self, order: u32) -> u64 {
        let is_last = |number: usize| self.to_end[self.at(number as u32).residues[1] as usize] == 0;
        let used = || (0..self.is_used.len()).filter(|&number| self.is_used[number]);
        let mut ways = vec![0u64; self.is_used.len()];
        used().filter(|&number| is_last(number)).for_each(|number| ways[number] = 1);
        for _ in 0..order {
            let mut longer = vec![0u64; ways.len()];
            used().filter(|&number| is_last(number)).for_each(|number| longer[number] = 1);
            for &[one, next] in &self.pairs {
                longer[one as usize] = longer[one as usize].saturating_add(ways[next as usize]);
            }
            ways = longer;
        }
        ways[..self.starts.len()].iter().fold(0, |sum, &n| sum.saturating_add(n))
    }
}

fn link_at<'a>(starts: &'a [Link], others: &'a [Link], number: u32) -> &'a Link {
    let number = number as usize;
    starts.get(number).unwrap_or_else(|| &others[number - starts.len()])
}
