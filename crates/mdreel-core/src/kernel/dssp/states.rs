//! Assignment of states to residues from hydrogen bonds.

use std::ops::Range;

use super::backbone::{Backbone, square};
use super::bonds::Bonds;
use super::bridges::{self, Bridge, Ladder};
use super::rules::{HELIX, Method};

const LOOP: u8 = 0;
const BRIDGE: u8 = 2;
const STRAND: u8 = 3;
const HELIX_3: u8 = 4;
const HELIX_5: u8 = 5;
const TURN: u8 = 6;
const BEND: u8 = 7;

/// With three states, the bit of residues in a strand.
const IN_STRAND: u8 = 2;
/// With three states, a temporary bit that marks residues in an α-helix.
const IN_ALPHA: u8 = 4;

/// Smallest distance in the sequence of two residues that form a bridge, according to Kabsch and Sander.
const LEAST_BRIDGED: usize = 3;
/// The cosine of 70 degrees, the angle of a bend.
const BEND_COSINE: f64 = 0.342_020_143_325_668_7;

/// The states of residues, and working memory.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    states: Vec<u8>,
    /// The turns that begin at each residue. The bits 3, 4 and 5 mark turns of 3, 4 and 5 residues.
    turns: Vec<u8>,
    bridges: Vec<Bridge>,
    of_bridges: Vec<u32>,
    ladders: Vec<Ladder>,
}

impl Assignment {
    /// Assigns states to the residues of a backbone with these bonds, and returns them.
    pub(crate) fn of(&mut self, method: Method, backbone: &Backbone, bonds: &Bonds) -> &[u8] {
        let chains = &backbone.chains;
        self.find_turns(bonds, chains);
        self.states.clear();
        self.states.resize(chains.len(), LOOP);
        match method {
            Method::Simplified => {
                bridges::find(bonds, chains, 0, &mut self.bridges);
                self.simplify();
            }
            Method::KabschSander => {
                bridges::find(bonds, chains, LEAST_BRIDGED, &mut self.bridges);
                bridges::climb(&self.bridges, chains, &mut self.of_bridges, &mut self.ladders);
                self.assign(|i| is_bent(backbone, i));
            }
        }
        &self.states
    }

    fn find_turns(&mut self, bonds: &Bonds, chains: &[u32]) {
        self.turns.clear();
        self.turns.resize(chains.len(), 0);
        for (donor, acceptor) in bonds.iter() {
            let stride = donor.wrapping_sub(acceptor);
            if (3..=5).contains(&stride) && chains[donor] == chains[acceptor] {
                self.turns[acceptor] |= 1 << stride;
            }
        }
    }

    /// Assigns three states. α-helices have priority: no other helix begins in them or immediately before them.
    fn simplify(&mut self) {
        for helix in helices(&self.turns, 4) {
            self.states[helix].fill(HELIX | IN_ALPHA);
        }
        for stride in [3, 5] {
            for helix in helices(&self.turns, stride) {
                if (self.states[helix.start] | self.states[helix.start + 1]) & IN_ALPHA == 0 {
                    self.states[helix].iter_mut().for_each(|state| *state |= HELIX);
                }
            }
        }
        self.states.iter_mut().for_each(|state| *state &= HELIX);
        for bridge in &self.bridges {
            for residue in [bridge.first, bridge.second] {
                self.states[residue as usize] |= IN_STRAND;
            }
        }
    }

    /// Assigns eight states: strands and bridges, α-helices, 3₁₀-helices, π-helices, turns and bends, in this order.
    ///
    /// Strands replace bridges. α-helices replace all earlier states. A 3₁₀-helix requires that none of its residues has
    /// another state; a π-helix may also replace an α-helix. Turns and bends are only assigned to residues that are still
    /// loops.
    fn assign(&mut self, is_bent: impl Fn(usize) -> bool) {
        let states = &mut self.states[..];
        for ladder in &self.ladders {
            let state = if ladder.n_bridges > 1 { STRAND } else { BRIDGE };
            for [from, to] in ladder.strands {
                for at in from..=to {
                    let at = &mut states[at as usize];
                    *at = if *at == STRAND { STRAND } else { state };
                }
            }
        }
        for (stride, helix, over) in [(4, HELIX, None), (3, HELIX_3, Some(LOOP)), (5, HELIX_5, Some(HELIX))] {
            for range in helices(&self.turns, stride) {
                let is_free = |state: &u8| [LOOP, helix].contains(state) || over == Some(*state);
                if over.is_none() || states[range.clone()].iter().all(is_free) {
                    states[range].fill(helix);
                }
            }
        }
        for (i, turns) in self.turns.iter().enumerate().filter(|(_, turns)| **turns != 0) {
            for stride in (3..=5).filter(|stride| turns & (1 << stride) != 0) {
                states[i + 1..i + stride].iter_mut().filter(|state| **state == LOOP).for_each(|state| *state = TURN);
            }
        }
        for (i, state) in states.iter_mut().enumerate() {
            if *state == LOOP && is_bent(i) {
                *state = BEND;
            }
        }
    }
}

/// Returns the residues of the helices. Two turns of `stride` residues form a helix if they begin at consecutive residues.
fn helices(turns: &[u8], stride: usize) -> impl Iterator<Item = Range<usize>> {
    (1..turns.len()).filter(move |&i| (turns[i - 1] & turns[i]) >> stride & 1 != 0).map(move |i| i..i + stride)
}

/// Returns whether the chain bends by more than 70 degrees at a residue. The angle is measured between the vector to its CA
/// from the CA two residues before, and the vector from its CA to the CA two residues after.
fn is_bent(backbone: &Backbone, i: usize) -> bool {
    let chains = &backbone.chains;
    if i < 2 || i + 2 >= chains.len() || chains[i - 2] != chains[i + 2] {
        return false;
    }
    let (u, v) = (backbone.between_alphas(i - 2, i), backbone.between_alphas(i, i + 2));
    let product = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    product < BEND_COSINE * (square(u) * square(v)).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const N: usize = 24;

    /// Donors and acceptors.
    type Pairs = Vec<(usize, usize)>;

    fn bond(pairs: &[(usize, usize)], donor: usize, acceptor: usize) -> bool {
        pairs.contains(&(donor, acceptor))
    }

    fn is_inner(chains: &[u32], i: usize) -> bool {
        i > 0 && i + 1 < N && chains[i - 1] == chains[i + 1]
    }

    /// Returns the kind of the bridge between residues i and j, as defined in the paper.
    fn bridged(pairs: &[(usize, usize)], chains: &[u32], i: usize, j: usize) -> Option<char> {
        if !is_inner(chains, i) || !is_inner(chains, j) {
            return None;
        }
        let parallel = |i: usize, j: usize| bond(pairs, j, i - 1) && bond(pairs, i + 1, j);
        let antiparallel =
            bond(pairs, i, j) && bond(pairs, j, i) || bond(pairs, j + 1, i - 1) && bond(pairs, i + 1, j - 1);
        if parallel(i, j) || parallel(j, i) { Some('P') } else { antiparallel.then_some('A') }
    }

    fn turn(pairs: &[(usize, usize)], chains: &[u32], i: usize, stride: usize) -> bool {
        i + stride < N && chains[i] == chains[i + stride] && bond(pairs, i + stride, i)
    }

    fn found(method: Method, pairs: &[(usize, usize)], chains: &[u32], bent: &[bool]) -> Vec<u8> {
        let bonds = Bonds::from_pairs(N, pairs);
        let mut assignment = Assignment::default();
        assignment.find_turns(&bonds, chains);
        assignment.states.resize(N, LOOP);
        if method == Method::Simplified {
            bridges::find(&bonds, chains, 0, &mut assignment.bridges);
            assignment.simplify();
        } else {
            bridges::find(&bonds, chains, LEAST_BRIDGED, &mut assignment.bridges);
            bridges::climb(&assignment.bridges, chains, &mut assignment.of_bridges, &mut assignment.ladders);
            assignment.assign(|i| bent[i]);
        }
        assignment.states
    }

    fn simplified(pairs: &[(usize, usize)], chains: &[u32]) -> Vec<u8> {
        let begins =
            |i: usize, stride: usize| i > 0 && turn(pairs, chains, i - 1, stride) && turn(pairs, chains, i, stride);
        let within = |i: usize, stride: usize, begins: &dyn Fn(usize) -> bool| {
            (0..stride).any(|back| i >= back && begins(i - back))
        };
        let alpha: Vec<bool> = (0..N).map(|i| within(i, 4, &|i| begins(i, 4))).collect();
        let other = |i: usize, stride: usize| within(i, stride, &|i| begins(i, stride) && !alpha[i] && !alpha[i + 1]);
        let state = |i: usize| {
            let is_helix = alpha[i] || other(i, 3) || other(i, 5);
            u8::from(is_helix) + 2 * u8::from((0..N).any(|j| bridged(pairs, chains, i, j).is_some()))
        };
        (0..N).map(state).collect()
    }

    /// Returns the expected states with the procedure of mkdssp: bridges of all pairs in order, and ladders as lists of
    /// residues.
    fn assigned(pairs: &[(usize, usize)], chains: &[u32], bent: &[bool]) -> Vec<u8> {
        let mut states = vec![LOOP; N];
        let mut ladders: Vec<(char, Vec<usize>, Vec<usize>)> = Vec::new();
        for (i, j) in (0..N).flat_map(|i| (i + 3..N).map(move |j| (i, j))) {
            let Some(kind) = bridged(pairs, chains, i, j) else { continue };
            let goes_on = |ladder: &&mut (char, Vec<usize>, Vec<usize>)| {
                let other = if kind == 'P' { ladder.2[ladder.2.len() - 1] + 1 } else { ladder.2[0].wrapping_sub(1) };
                ladder.0 == kind && ladder.1[ladder.1.len() - 1] + 1 == i && other == j
            };
            match ladders.iter_mut().find(goes_on) {
                Some((_, first, second)) => {
                    first.push(i);
                    second.insert(if kind == 'P' { second.len() } else { 0 }, j);
                }
                None => ladders.push((kind, vec![i], vec![j])),
            }
        }
        let mut at = 0;
        while at < ladders.len() {
            let mut next = at + 1;
            while next < ladders.len() {
                let ends = |list: &[usize]| [list[0] as i64, list[list.len() - 1] as i64];
                let ((kind, a, b), (other, c, d)) = (&ladders[at], &ladders[next]);
                let ([ai, ae], [bi, be], [ci, ce], [di, de]) = (ends(a), ends(b), ends(c), ends(d));
                let one = |from: i64, to: i64| chains[from as usize] == chains[to as usize];
                let behind = if *kind == 'P' { di - be } else { bi - de };
                let ahead = if *kind == 'P' { di > bi } else { di < bi };
                let joins = kind == other
                    && one(ai.min(ci), ae.max(ce))
                    && one(bi.min(di), be.max(de))
                    && (1..6).contains(&(ci - ae))
                    && ahead
                    && (behind < 6 && ci - ae < 3 || behind < 3);
                if joins {
                    let (kind, c, d) = ladders.remove(next);
                    ladders[at].1.extend(c);
                    let place = if kind == 'P' { ladders[at].2.len() } else { 0 };
                    drop(ladders[at].2.splice(place..place, d));
                } else {
                    next += 1;
                }
            }
            at += 1;
        }
        for (_, first, second) in &ladders {
            for list in [first, second] {
                for state in states.iter_mut().take(list[list.len() - 1] + 1).skip(list[0]) {
                    *state = if first.len() > 1 || *state == STRAND { STRAND } else { BRIDGE };
                }
            }
        }
        let begins = |i: usize, stride: usize| turn(pairs, chains, i - 1, stride) && turn(pairs, chains, i, stride);
        for (stride, helix, free) in [(4, HELIX, &[0, 1, 2, 3][..]), (3, HELIX_3, &[0, 4]), (5, HELIX_5, &[0, 5, 1])] {
            for i in (1..N).filter(|&i| begins(i, stride)) {
                if states[i..i + stride].iter().all(|state| free.contains(state)) {
                    states[i..i + stride].fill(helix);
                }
            }
        }
        for i in (0..N).filter(|&i| states[i] == LOOP).collect::<Vec<_>>() {
            let turns = (3..=5).any(|stride| (1..stride).any(|k| i >= k && turn(pairs, chains, i - k, stride)));
            states[i] = if turns {
                TURN
            } else if bent[i] {
                BEND
            } else {
                LOOP
            };
        }
        states
    }

    /// Returns bonds that form turns and bridges more often than random bonds, but no bonds between neighbours.
    fn bonds() -> impl Strategy<Value = Pairs> {
        let place = (0..N, 0..N, 0..6usize, 1..5usize).prop_map(|(i, j, pattern, n)| {
            let steps = (0..n).flat_map(|k| {
                let (i, j) = (i + k, if pattern == 4 { j.wrapping_sub(k) } else { j + k });
                match pattern {
                    0 => vec![(i + 3, i)],
                    1 => vec![(i + 4, i)],
                    2 => vec![(i + 5, i)],
                    3 => vec![(j, i.wrapping_sub(1)), (i + 1, j)],
                    4 => vec![(i, j), (j, i)],
                    _ => vec![(i, j)],
                }
            });
            steps.collect::<Pairs>()
        });
        prop::collection::vec(place, 0..12).prop_map(|lists| {
            let is_bond = |&(donor, acceptor): &(usize, usize)| {
                donor < N && acceptor < N && !(0..3).contains(&(donor as i64 - acceptor as i64))
            };
            let mut pairs: Pairs = lists.into_iter().flatten().filter(is_bond).collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn states_are_those_of_the_definitions(
            pairs in bonds(), cut in 0..2 * N, bent in prop::collection::vec(any::<bool>(), N),
        ) {
            let chains: Vec<u32> = (0..N).map(|i| u32::from(i >= cut)).collect();
            prop_assert_eq!(found(Method::Simplified, &pairs, &chains, &bent), simplified(&pairs, &chains));
            prop_assert_eq!(found(Method::KabschSander, &pairs, &chains, &bent), assigned(&pairs, &chains, &bent));
        }
    }
}
