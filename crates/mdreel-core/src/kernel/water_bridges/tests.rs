use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped, right_of_origin, those_right_of_origin};
use crate::periodic::Periodic;
use crate::reduce::Tally;
use crate::unit_cell::UnitCell;

type Frame = Vec<[f32; 3]>;
/// An atom and its heavy atom, or [`NO_ATOM`], at both ends.
type Key = [u32; 4];

/// Number of heavy atoms. Each is followed by two hydrogens.
const N_SITES: u32 = 12;
const N_ATOMS: usize = 36;

fn sites() -> BridgeSites {
    let atoms: Vec<u32> = (0..N_SITES).map(|site| 3 * site).collect();
    let hydrogens =
        (0..N_SITES).filter(|site| site % 5 != 1).flat_map(|site| [[site, 3 * site + 1], [site, 3 * site + 2]]);
    BridgeSites {
        // Two sites of the first group are in the same residue. Residues are not in the order of the atoms.
        residues: vec![9, 9, 3, 4, 8, 7, 6, 5, 2, 1, 0, 10],
        are_acceptors: (0..N_SITES).map(|site| site % 7 != 3).collect(),
        hydrogens: hydrogens.collect(),
        atoms,
    }
}

/// Returns the sites of the first group, the second group and the water.
fn groups(overlap: bool) -> [Vec<u32>; 3] {
    if overlap {
        [vec![0, 1, 2, 3], vec![1, 2, 4, 5], (5..12).collect()]
    } else {
        [vec![0, 1], vec![2, 3], (4..12).collect()]
    }
}

fn places(of: &[Vec<u32>; 3]) -> [Vec<u32>; 3] {
    of.each_ref().map(|sites| sites.iter().map(|site| 3 * site).collect())
}

/// The contents of a network, and the number of its bridges.
#[derive(Debug, Default, PartialEq)]
struct Found {
    starts: BTreeMap<Key, [i64; 2]>,
    /// Bonds, with a flag that marks those that start at the first group.
    bonds: BTreeSet<(bool, Key)>,
    pairs: BTreeSet<[(bool, Key); 2]>,
    n_bridges: u64,
}

/// Rounds distances and angles to integers, so that the last bits do not affect comparisons.
fn rounded([distance, angle]: [f64; 2]) -> [i64; 2] {
    [(distance * 1e6).round() as i64, (angle * 1e4).round() as i64]
}

/// Returns the expected network, from a loop over all pairs of donor and acceptor and then over all routes, and the smallest
/// difference of a bond from a limit.
fn expected(
    frame: &Frame,
    cell: Option<&UnitCell>,
    of: &[Vec<u32>; 3],
    criteria: BridgeCriteria,
    chains: Chains,
) -> (Found, f64) {
    let images = Periodic::new(cell).unwrap();
    let vector = |from: u32, to: u32| {
        let d = std::array::from_fn(|k| f64::from(frame[to as usize][k]) - f64::from(frame[from as usize][k]));
        images.map_or(d, |cell| cell.shortest(d))
    };
    let length = |[x, y, z]: [f64; 3]| (x * x + y * y + z * z).sqrt();
    let (sites, mut margin) = (sites(), f64::INFINITY);
    let mut bonded = |donors: &[u32], acceptors: &[u32]| {
        let mut bonds = Vec::new();
        for &[donor, hydrogen] in sites.hydrogens.iter().filter(|[donor, _]| donors.contains(donor)) {
            for &acceptor in acceptors.iter().filter(|&&site| sites.are_acceptors[site as usize] && site != donor) {
                let (d, a) = (sites.atoms[donor as usize], sites.atoms[acceptor as usize]);
                let apart = length(vector(if criteria.is_heavy { d } else { hydrogen }, a));
                let (u, v) = (vector(hydrogen, d), vector(hydrogen, a));
                let cosine = (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]) / (length(u) * length(v));
                let angle = cosine.clamp(-1.0, 1.0).acos().to_degrees();
                margin = margin.min((apart - criteria.distance).abs()).min((angle - criteria.angle).abs());
                if apart <= criteria.distance && angle > criteria.angle {
                    bonds.push(([hydrogen, d, a, NO_ATOM], [apart, angle]));
                }
            }
        }
        bonds
    };
    let back = |([a, b, c, d], measures): (Key, [f64; 2])| ([c, d, a, b], measures);
    let [first, second, water] = of;
    let (mut starts, mut pool) = (Vec::new(), Vec::new());
    let mut ends = BTreeSet::new();
    let residue = |atom: u32| sites.residues[atom as usize / 3];
    if chains.first_donates {
        let direct = bonded(first, second);
        ends.extend(direct.iter().map(|(key, _)| residue(key[2])));
        starts.extend(direct);
        if chains.order > 0 {
            starts.extend(bonded(first, water));
            let last = bonded(water, second);
            ends.extend(last.iter().map(|(key, _)| residue(key[2])));
            pool.extend(last);
        }
    }
    if chains.first_accepts {
        let direct: Vec<_> = bonded(second, first).into_iter().map(back).collect();
        ends.extend(direct.iter().map(|(key, _)| residue(key[2])));
        starts.extend(direct);
        if chains.order > 0 {
            let last: Vec<_> = bonded(second, water).into_iter().map(back).collect();
            ends.extend(last.iter().map(|(key, _)| residue(key[2])));
            pool.extend(last);
            starts.extend(bonded(water, first).into_iter().map(back));
        }
    }
    if chains.order > 1 {
        for bond in bonded(water, water) {
            pool.extend([bond, back(bond)]);
        }
    }
    let mut found = Found::default();
    let measures: BTreeMap<Key, [i64; 2]> = starts.iter().chain(&pool).map(|&(key, of)| (key, rounded(of))).collect();
    let pool: BTreeSet<Key> = pool.into_iter().map(|(key, _)| key).collect();
    let mut routes: Vec<Vec<Key>> = starts.into_iter().map(|(key, _)| vec![key]).collect();
    while let Some(route) = routes.pop() {
        if route.len() as u32 > chains.order + 1 {
            continue;
        }
        let (start, last) = (route[0], route[route.len() - 1]);
        if !ends.contains(&residue(last[2])) {
            let next = pool.iter().filter(|key| residue(key[0]) == residue(last[2]));
            routes.extend(next.map(|&key| [&route[..], &[key]].concat()));
            continue;
        }
        let targets: BTreeSet<u32> = route.iter().map(|key| if key[3] == NO_ATOM { key[2] } else { key[3] }).collect();
        let returns = route.len() > 1 && [start[0], start[2]].iter().all(|end| [last[0], last[2]].contains(end));
        if targets.len() == route.len() && !returns {
            let named: Vec<(bool, Key)> = route.iter().enumerate().map(|(i, &key)| (i == 0, key)).collect();
            found.starts.insert(start, measures[&start]);
            found.pairs.extend(named.windows(2).map(|pair| [pair[0], pair[1]]));
            found.bonds.extend(named);
        }
    }
    // The bridges are all walks through the network, including those that combine parts of different routes.
    let mut walks: Vec<Vec<(bool, Key)>> = found.starts.keys().map(|&key| vec![(true, key)]).collect();
    while let Some(walk) = walks.pop() {
        let last = walk[walk.len() - 1];
        found.n_bridges += u64::from(ends.contains(&residue(last.1[2])));
        if walk.len() as u32 <= chains.order {
            let next = found.pairs.iter().filter(|pair| pair[0] == last);
            walks.extend(next.map(|pair| [&walk[..], &[pair[1]]].concat()));
        }
    }
    (found, margin)
}

/// Returns the networks of the frames of a tally.
fn found(mut tally: Tally, n_frames: usize) -> Vec<Found> {
    let (atoms, measures, pairs) = tally.own[0].here::<BridgeTable>().unwrap().take();
    let columns: [Vec<usize>; 4] = std::array::from_fn(|k| tally.rows.column(k).map(|n| n as usize).collect());
    let (mut bond, mut pair) = (0, 0);
    (0..n_frames)
        .map(|i| {
            let [n_bridges, n_starts, n_bonds, n_pairs] = columns.each_ref().map(|column| column[i]);
            let named = |number: u32| ((number as usize) < n_starts, atoms[bond + number as usize]);
            let starts = (bond..bond + n_starts).map(|k| (atoms[k], rounded(measures[k])));
            let found = Found {
                starts: starts.collect(),
                bonds: (0..n_bonds as u32).map(named).collect(),
                pairs: pairs[pair..pair + n_pairs].iter().map(|pair| pair.map(named)).collect(),
                n_bridges: n_bridges as u64,
            };
            (bond, pair) = (bond + n_bonds, pair + n_pairs);
            found
        })
        .collect()
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        prop::array::uniform3(9f32..14.0).prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (12f32..15.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
    ]
}

fn chains() -> impl Strategy<Value = Chains> {
    (0u32..5, prop_oneof![Just([true, true]), Just([true, false]), Just([false, true])])
        .prop_map(|(order, [first_donates, first_accepts])| Chains { order, first_donates, first_accepts })
}

fn computation(of: &[Vec<u32>; 3], criteria: BridgeCriteria, chains: Chains) -> WaterBridges {
    let groups = places(of).map(Group::from);
    WaterBridges::new(N_ATOMS, sites(), groups, criteria, chains, Shortest::WherePossible).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn networks_are_those_of_all_routes(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-4.07f32..4.11), N_ATOMS), 1..4),
        cell in cells(), chains in chains(), is_heavy in any::<bool>(), overlap in any::<bool>(), cut in 0usize..3,
    ) {
        let criteria = BridgeCriteria { distance: 3.1, is_heavy, angle: 75.0 };
        let of = groups(overlap);
        let (networks, margins): (Vec<Found>, Vec<f64>) =
            frames.iter().map(|frame| expected(frame, cell.as_ref(), &of, criteria, chains)).unzip();
        prop_assume!(margins.iter().all(|&margin| margin > 1e-5));
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let mut whole = None;
        for level in Level::available() {
            let bridges = || computation(&of, criteria, chains).at_level(level);
            let tally = mapped(bridges(), &[batch(0, &frames, cell)]).unwrap();
            let mut blocks = vec![batch(left.len() as u64, right, cell)];
            if !left.is_empty() {
                blocks.insert(0, batch(0, left, cell));
            }
            let split = mapped(bridges(), &blocks).unwrap();
            prop_assert!(tally == split, "blocks change nothing");
            prop_assert!(*whole.get_or_insert_with(|| tally.clone()) == tally, "{}", level.name());
            prop_assert_eq!(&found(tally, frames.len()), &networks, "{}", level.name());
        }
    }

    #[test]
    fn groups_that_change_are_those_of_each_frame(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-4.07f32..4.11), N_ATOMS), 1..4),
    ) {
        let criteria = BridgeCriteria { distance: 3.1, is_heavy: false, angle: 75.0 };
        let chains = Chains { order: 2, first_donates: true, first_accepts: true };
        let [first, second, water] = places(&groups(false));
        let changing = [first, second, water].map(|places| right_of_origin(N_ATOMS as u32, &places));
        let bridges = WaterBridges::new(N_ATOMS, sites(), changing, criteria, chains, Shortest::Never).unwrap();
        let mut networks = Vec::new();
        for frame in &frames {
            let now = places(&groups(false)).map(|of| {
                those_right_of_origin(frame, &of).into_iter().map(|place| place / 3).collect()
            });
            let (network, margin) = expected(frame, None, &now, criteria, chains);
            prop_assume!(margin > 1e-5);
            networks.push(network);
        }
        let tally = mapped(bridges, &[batch(0, &frames, None)]).unwrap();
        prop_assert_eq!(found(tally, frames.len()), networks);
    }
}

/// Creates two heavy atoms at the ends of a line of waters, spaced by 3 Å, in which each atom or water donates to the next.
fn chain(n_waters: u32) -> (Frame, BridgeSites, [Group; 3]) {
    let at = |x: f32| [x, 0.0, 0.0];
    let (mut frame, mut sites) = (vec![at(0.0), at(1.0)], BridgeSites::default());
    for water in 1..=n_waters {
        frame.extend([at(3.0 * water as f32), at(3.0 * water as f32 + 1.0)]);
    }
    frame.push(at(3.0 * (n_waters + 1) as f32));
    sites.atoms = (0..n_waters + 2).map(|site| 2 * site).collect();
    sites.residues = (0..n_waters + 2).collect();
    sites.are_acceptors = vec![true; n_waters as usize + 2];
    sites.hydrogens = (0..=n_waters).map(|site| [site, 2 * site + 1]).collect();
    let water: Vec<u32> = (1..=n_waters).map(|site| 2 * site).collect();
    (frame, sites, [vec![0].into(), vec![2 * n_waters + 2].into(), water.into()])
}

#[test]
fn bridge_is_found_from_its_number_of_waters_on() {
    let criteria = BridgeCriteria { distance: 2.5, is_heavy: false, angle: 120.0 };
    for n_waters in [1, 2, 5, MOST_WATERS] {
        for order in [n_waters - 1, n_waters] {
            let (frame, sites, groups) = chain(n_waters);
            let chains = Chains { order, first_donates: true, first_accepts: true };
            let bridges = WaterBridges::new(frame.len(), sites, groups, criteria, chains, Shortest::Never).unwrap();
            let tally = mapped(bridges, &[batch(0, &[frame], None)]).unwrap();
            let n_bonds = if order == n_waters { f64::from(n_waters + 1) } else { 0.0 };
            let [n_bridges, n_starts] = if order == n_waters { [1.0, 1.0] } else { [0.0, 0.0] };
            let row: Vec<f64> = (0..4).flat_map(|k| tally.rows.column(k)).collect();
            assert_eq!(row, [n_bridges, n_starts, n_bonds, (n_bonds - 1.0).max(0.0)]);
        }
    }
}

#[test]
fn table_that_travels_as_bytes_is_the_same() {
    let criteria = BridgeCriteria { distance: 2.5, is_heavy: false, angle: 120.0 };
    let (frame, sites, groups) = chain(3);
    let chains = Chains { order: 3, first_donates: true, first_accepts: false };
    let bridges = WaterBridges::new(frame.len(), sites, groups, criteria, chains, Shortest::Never).unwrap();
    let whole = mapped(bridges.clone(), &[batch(0, &[frame.clone(), frame.clone()], None)]).unwrap();
    let mut first = mapped(bridges.clone(), &[batch(0, std::slice::from_ref(&frame), None)]).unwrap();
    let second = mapped(bridges, &[batch(1, &[frame], None)]).unwrap();
    // The clone of a value is its bytes.
    first.own[0].merge(second.own[0].clone());
    assert_eq!(first.own, whole.own);
}

#[test]
fn wrong_sites_and_numbers_are_refused() {
    let good = BridgeCriteria { distance: 3.0, is_heavy: false, angle: 120.0 };
    let chains = Chains { order: 1, first_donates: true, first_accepts: true };
    let none = || [const { Vec::new() }; 3].map(Group::from);
    let refused = |n_atoms: usize, sites: BridgeSites, groups: [Group; 3], criteria: BridgeCriteria, chains: Chains| {
        WaterBridges::new(n_atoms, sites, groups, criteria, chains, Shortest::Never).unwrap_err().to_string()
    };
    for criteria in [
        BridgeCriteria { distance: 0.0, ..good },
        BridgeCriteria { distance: f64::NAN, ..good },
        BridgeCriteria { angle: -1.0, ..good },
    ] {
        assert!(refused(N_ATOMS, sites(), none(), criteria, chains).contains("expected a distance and an angle"));
    }
    let too_many = Chains { order: MOST_WATERS + 1, ..chains };
    assert!(refused(N_ATOMS, sites(), none(), good, too_many).contains("11 waters: expected 10 at most"));
    assert!(refused(20, sites(), none(), good, chains).contains("needs atom 21 of 20"));
    let mixed = BridgeSites { atoms: sites().atoms.into_iter().rev().collect(), ..sites() };
    assert!(refused(N_ATOMS, mixed, none(), good, chains).contains("ascending order"));
    let bare = BridgeSites { residues: Vec::new(), ..sites() };
    assert!(refused(N_ATOMS, bare, none(), good, chains).contains("a residue each"));
    let [_, second, water] = none();
    let message = refused(N_ATOMS, sites(), [vec![1].into(), second, water], good, chains);
    assert!(message.contains("atom 1 of a group is not a site"), "{message}");
}

#[test]
fn too_small_cells_and_positions_that_are_no_numbers_are_refused() {
    let criteria = BridgeCriteria { distance: 3.0, is_heavy: false, angle: 120.0 };
    let chains = Chains { order: 1, first_donates: true, first_accepts: true };
    let bridges = || computation(&groups(false), criteria, chains);
    let mut frame = vec![[0.0; 3]; N_ATOMS];
    let cell = UnitCell::Dimensions([5.9, 20.0, 20.0, 90.0, 90.0, 90.0]);
    let message = mapped(bridges(), &[batch(7, std::slice::from_ref(&frame), Some(cell))]).unwrap_err().to_string();
    assert!(message.contains("frame 7") && message.contains("2.950 Å"), "{message}");
    frame[5][1] = f32::NAN;
    let message = mapped(bridges(), &[batch(7, &[frame], None)]).unwrap_err().to_string();
    assert!(message.contains("frame 7: atom 5 of the 36"), "{message}");
}
