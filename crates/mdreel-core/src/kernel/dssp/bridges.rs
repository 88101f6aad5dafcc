//! Bridges, which are pairs of residues that hydrogen bonds connect side by side, and ladders of bridges.

use super::bonds::Bonds;

/// A bulge joins two ladders if, on one strand, the second ladder begins fewer than this many residues after the end of the
/// first: at most four extra residues.
const BULGE: i64 = 6;
/// On the other strand, the second ladder begins fewer than this many residues after the end of the first: at most one extra
/// residue.
const OTHER_BULGE: i64 = 3;

/// The relative direction of two strands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Parallel,
    Antiparallel,
}

/// Two residues that are next to each other on two strands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bridge {
    pub first: u32,
    pub second: u32,
    pub kind: Kind,
}

/// Finds the bridges between residues that are at least `least` residues apart.
///
/// Each bridge is listed once, in the order of the residues, with `first` before `second`. A pair with bonds of both kinds is a
/// parallel bridge.
pub(super) fn find(bonds: &Bonds, chains: &[u32], least: usize, bridges: &mut Vec<Bridge>) {
    bridges.clear();
    let is_inner = |i: usize| i > 0 && i + 1 < chains.len() && chains[i - 1] == chains[i + 1];
    let mut add = |i: usize, j: usize, kind| {
        let (first, second) = (i.min(j), i.max(j));
        if second - first >= least && is_inner(first) && is_inner(second) {
            bridges.push(Bridge { first: first as u32, second: second as u32, kind });
        }
    };
    for (donor, acceptor) in bonds.iter() {
        if bonds.has(acceptor + 2, donor) {
            add(acceptor + 1, donor, Kind::Parallel);
        }
        if bonds.has(acceptor, donor) {
            add(donor, acceptor, Kind::Antiparallel);
        }
        if donor >= 2 && bonds.has(acceptor + 2, donor - 2) {
            add(donor - 1, acceptor + 1, Kind::Antiparallel);
        }
    }
    bridges.sort_unstable();
    bridges.dedup_by_key(|bridge| (bridge.first, bridge.second));
}

/// A series of bridges of one kind, each next to the previous one, or several such series joined by bulges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ladder {
    kind: Kind,
    /// First and last residue on each of the two strands. The numbers ascend on both.
    pub strands: [[u32; 2]; 2],
    pub n_bridges: u32,
}

impl Ladder {
    /// Returns whether a ladder that begins after this one on the first strand continues it.
    fn goes_on(&self, next: &Ladder, chains: &[u32]) -> bool {
        let [first, second] = self.strands.map(|strand| strand.map(i64::from));
        let [next_first, next_second] = next.strands.map(|strand| strand.map(i64::from));
        let is_one_chain = |one: [i64; 2], other: [i64; 2]| {
            chains[one[0].min(other[0]) as usize] == chains[one[1].max(other[1]) as usize]
        };
        let (is_ahead, other_gap) = match self.kind {
            Kind::Parallel => (next_second[0] > second[0], next_second[0] - second[1]),
            Kind::Antiparallel => (next_second[0] < second[0], second[0] - next_second[1]),
        };
        let gap = next_first[0] - first[1];
        self.kind == next.kind
            && gap > 0
            && is_ahead
            && (other_gap < OTHER_BULGE || (other_gap < BULGE && gap < OTHER_BULGE))
            && is_one_chain(first, next_first)
            && is_one_chain(second, next_second)
    }

    fn join(&mut self, next: &Ladder) {
        let [first, second] = &mut self.strands;
        first[1] = next.strands[0][1];
        match self.kind {
            Kind::Parallel => second[1] = next.strands[1][1],
            Kind::Antiparallel => second[0] = next.strands[1][0],
        }
        self.n_bridges += next.n_bridges;
    }
}

/// Finds the ladders of bridges, which must be sorted. `of_bridges` is working memory for the ladder of each bridge.
pub(super) fn climb(bridges: &[Bridge], chains: &[u32], of_bridges: &mut Vec<u32>, ladders: &mut Vec<Ladder>) {
    ladders.clear();
    of_bridges.clear();
    // The range of the bridges of the previous residue, and the first bridge of the current residue.
    let (mut before, mut row) = (0..0, 0);
    for (at, &Bridge { first, second, kind }) in bridges.iter().enumerate() {
        if first != bridges[row].first {
            before = if bridges[row].first + 1 == first { row..at } else { at..at };
            row = at;
        }
        let from = if kind == Kind::Parallel { second - 1 } else { second + 1 };
        let found = before.clone().find(|&k| bridges[k].kind == kind && bridges[k].second == from);
        let step = Ladder { kind, strands: [[first; 2], [second; 2]], n_bridges: 1 };
        match found {
            Some(k) => {
                of_bridges.push(of_bridges[k]);
                ladders[of_bridges[k] as usize].join(&step);
            }
            None => {
                of_bridges.push(ladders.len() as u32);
                ladders.push(step);
            }
        }
    }
    for at in 0..ladders.len() {
        let mut next = at + 1;
        // Ladders are in the order of their first residues.
        while next < ladders.len()
            && i64::from(ladders[next].strands[0][0]) - i64::from(ladders[at].strands[0][1]) < BULGE
        {
            if ladders[at].goes_on(&ladders[next], chains) {
                let joined = ladders.remove(next);
                ladders[at].join(&joined);
            } else {
                next += 1;
            }
        }
    }
}
