use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::reduce::Own;
use crate::unit_cell::UnitCell;

type Frame = Vec<[f32; 3]>;
type Contacts = Vec<([u32; 2], f64)>;

fn units(numbers: &[u32], atoms: &[Vec<u32>]) -> Units {
    let mut units = Units { numbers: numbers.to_vec(), starts: vec![0], atoms: Vec::new() };
    for atoms in atoms {
        units.atoms.extend(atoms);
        units.starts.push(units.atoms.len() as u32);
    }
    units
}

/// Returns the expected contacts, from a loop over all pairs of units and all their atoms.
fn expected(
    frame: &Frame,
    cell: Option<&UnitCell>,
    [first, second]: [&Units; 2],
    allows: impl Fn(u32, u32) -> bool,
    cutoff: f64,
) -> Contacts {
    let images = Periodic::new(cell).unwrap();
    let atoms = |units: &Units, k: usize| units.atoms[units.starts[k] as usize..units.starts[k + 1] as usize].to_vec();
    let mut found: Contacts = Vec::new();
    for (i, &from) in first.numbers.iter().enumerate() {
        for (j, &to) in second.numbers.iter().enumerate() {
            if from == to || !allows(from, to) {
                continue;
            }
            let mut least = f64::INFINITY;
            for a in atoms(first, i) {
                for b in atoms(second, j) {
                    let d = std::array::from_fn(|k| f64::from(frame[b as usize][k]) - f64::from(frame[a as usize][k]));
                    let [x, y, z] = images.as_ref().map_or(d, |images| images.shortest(d));
                    least = least.min((x * x + y * y + z * z).sqrt());
                }
            }
            if least <= cutoff {
                found.push(([from, to], least));
            }
        }
    }
    found
}

/// A pair, and its number of frames, number of events, first frame, last frame, sum of distances and minimum.
type Row = ([u32; 2], u64, u64, u64, u64, f64, f64);

/// Returns the expected table of contacts over several frames, from a loop.
fn statistics(frames: &[Contacts]) -> Vec<Row> {
    let mut pairs: Vec<[u32; 2]> = frames.iter().flatten().map(|(pair, _)| *pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let of = |pair: [u32; 2]| {
        let each: Vec<Option<f64>> =
            frames.iter().map(|found| found.iter().find(|(other, _)| *other == pair).map(|(_, d)| *d)).collect();
        let places: Vec<u64> = (0..).zip(&each).filter(|(_, d)| d.is_some()).map(|(k, _)| k).collect();
        let events = places.iter().filter(|&&k| k == 0 || each[k as usize - 1].is_none()).count() as u64;
        let distances: Vec<f64> = each.into_iter().flatten().collect();
        let (sum, least) = (distances.iter().sum(), distances.iter().copied().fold(f64::INFINITY, f64::min));
        (pair, distances.len() as u64, events, places[0], places[places.len() - 1], sum, least)
    };
    pairs.into_iter().map(of).collect()
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        prop::array::uniform3(13f32..60.0)
            .prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (18f32..60.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
        (20f32..60.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53]))),
    ]
}

/// Returns frames of 60 atoms in 12 clusters of different widths, some compact and some spread over the whole frame.
fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let residue = (prop::array::uniform3(-25f32..25.0), 0.1f32..9.0);
    let atom = prop::array::uniform3(-1f32..1.0);
    let frame = (prop::collection::vec(residue, 12), prop::collection::vec(atom, 60)).prop_map(|(residues, atoms)| {
        let place = |(k, d): (usize, [f32; 3])| {
            let (centre, width) = residues[k / 5];
            std::array::from_fn(|axis| centre[axis] + width * d[axis])
        };
        atoms.into_iter().enumerate().map(place).collect()
    });
    prop::collection::vec(frame, 1..5)
}

/// Divides 60 atoms into residues with the given numbers of atoms.
fn residues(sizes: &[usize]) -> Vec<Vec<u32>> {
    let mut next = 0;
    let mut residues = Vec::new();
    for &size in sizes {
        residues.push((next..(next + size as u32).min(60)).collect::<Vec<u32>>());
        next += size as u32;
    }
    residues.retain(|atoms| !atoms.is_empty());
    residues
}

fn taken(contacts: &ResidueContacts, frames: &[Frame], cell: Option<UnitCell>, cut: usize) -> Tables {
    let (left, right) = frames.split_at(cut.min(frames.len() - 1));
    let mut batches = vec![batch(left.len() as u64, right, cell)];
    if !left.is_empty() {
        batches.insert(0, batch(0, left, cell));
    }
    let mut tally = mapped(contacts.clone(), &batches).unwrap();
    let counts: Vec<usize> = tally.rows.column(0).map(|count| count as usize).collect();
    let (pairs, series) = tally.own[0].here::<ContactTable>().unwrap().take();
    Tables { counts, pairs, series }
}

#[derive(Debug, PartialEq)]
struct Tables {
    counts: Vec<usize>,
    pairs: Vec<PairStatistics>,
    series: Option<(Places, Vec<f32>)>,
}

fn compare(found: &Tables, expected: &[Contacts]) {
    assert_eq!(found.counts, expected.iter().map(Vec::len).collect::<Vec<_>>());
    let all = statistics(expected);
    assert_eq!(found.pairs.len(), all.len());
    for (pair, &(units, n_frames, n_events, first, last, sum, minimum)) in found.pairs.iter().zip(&all) {
        assert_eq!(
            (pair.units, pair.n_frames, pair.n_events, pair.first, pair.last),
            (units, n_frames, n_events, first, last)
        );
        assert!((pair.sum.value() - sum).abs() < 1e-9 && (pair.minimum - minimum).abs() < 1e-9);
    }
    let Some((places, distances)) = &found.series else { return };
    let contacts: Vec<_> = places.to_long().into_iter().map(|place| found.pairs[place as usize].units).collect();
    assert_eq!(contacts, expected.iter().flatten().map(|(pair, _)| *pair).collect::<Vec<_>>());
    for (distance, (_, other)) in distances.iter().zip(expected.iter().flatten()) {
        assert!((f64::from(*distance) - other).abs() < 1e-5, "{distance} and {other}");
    }
}

proptest! {
    #[test]
    fn contacts_are_those_of_all_atoms(
        frames in frames(), cell in cells(), cutoff in 0.5f64..6.0, separation in 1i64..4, cut in 0usize..4,
        sizes in prop::collection::vec(1usize..15, 4..12), keeps_series in any::<bool>(), sorts in any::<bool>(),
    ) {
        let atoms = residues(&sizes);
        let numbers: Vec<u32> = (0..atoms.len() as u32).collect();
        // A chain ends after the third residue.
        let positions: Vec<i64> = (0..atoms.len() as i64).map(|k| if k < 3 { k } else { k + 1000 }).collect();
        let group = units(&numbers, &atoms);
        let choice = Choice::Apart { positions: positions.clone(), separation };
        let allows = |i: u32, j: u32| i < j && positions[j as usize] - positions[i as usize] >= separation;
        let expected: Vec<Contacts> =
            frames.iter().map(|frame| expected(frame, cell.as_ref(), [&group, &group], allows, cutoff)).collect();
        let mut bits = None;
        for level in Level::available() {
            let contacts =
                ResidueContacts::new(60, &group, None, choice.clone(), cutoff, Shortest::WherePossible, keeps_series);
            let mut contacts = contacts.unwrap().at_level(level);
            contacts.most_compared = if sorts { 0 } else { MOST_COMPARED };
            let found = taken(&contacts, &frames, cell, cut);
            compare(&found, &expected);
            prop_assert_eq!(bits.get_or_insert_with(|| taken(&contacts, &frames, cell, 0)), &found, "{}", level.name());
        }
    }

    #[test]
    fn soft_minima_are_those_of_all_atoms(
        frames in frames(), cell in cells(), cutoff in 0.5f64..6.0, beta in 0.1f64..400.0,
        sizes in prop::collection::vec(1usize..15, 4..12), sorts in any::<bool>(),
    ) {
        let atoms = residues(&sizes);
        let numbers: Vec<u32> = (0..atoms.len() as u32).collect();
        let group = units(&numbers, &atoms);
        let choice = Choice::Apart { positions: (0..atoms.len() as i64).collect(), separation: 1 };
        let hard: Vec<Contacts> =
            frames.iter().map(|frame| expected(frame, cell.as_ref(), [&group, &group], |i, j| i < j, cutoff)).collect();
        let images = Periodic::new(cell.as_ref()).unwrap();
        let soft = |frame: &Frame, [i, j]: [u32; 2]| {
            let pairs = atoms[i as usize].iter().flat_map(|a| atoms[j as usize].iter().map(move |b| (a, b)));
            let inverse: Vec<f64> = pairs
                .map(|(a, b)| {
                    let d = std::array::from_fn(|k| f64::from(frame[*b as usize][k]) - f64::from(frame[*a as usize][k]));
                    let [x, y, z] = images.as_ref().map_or(d, |images| images.shortest(d));
                    beta / (x * x + y * y + z * z).sqrt()
                })
                .collect();
            let most = inverse.iter().copied().fold(0.0, f64::max);
            beta / (most + inverse.iter().map(|term| (term - most).exp()).sum::<f64>().ln())
        };
        let soft: Vec<Contacts> = frames
            .iter()
            .zip(&hard)
            .map(|(frame, contacts)| contacts.iter().map(|&(pair, _)| (pair, soft(frame, pair))).collect())
            .collect();
        let contacts = ResidueContacts::new(60, &group, None, choice, cutoff, Shortest::WherePossible, true).unwrap();
        let mut contacts = contacts.with_soft_minimum(beta).unwrap();
        contacts.most_compared = if sorts { 0 } else { MOST_COMPARED };
        compare(&taken(&contacts, &frames, cell, 1), &soft);
    }

    #[test]
    fn contacts_of_two_groups_count_once(
        frames in frames(), cell in cells(), cutoff in 0.5f64..6.0, separation in 1i64..4, shared in 0usize..6,
    ) {
        let atoms = residues(&[7, 3, 9, 12, 2, 5, 8, 6]);
        let numbers: Vec<u32> = (0..8).collect();
        let first = units(&numbers[..4], &atoms[..4]);
        let from = 4 - shared.min(4);
        let second = units(&numbers[from..], &atoms[from..]);
        let choice = Choice::Apart { positions: (0..8).collect(), separation };
        let is_in_both = |k: u32| (from as u32..4).contains(&k);
        let allows = |i: u32, j: u32| {
            i.abs_diff(j) >= separation as u32 && !(i > j && is_in_both(i) && is_in_both(j))
        };
        let expected: Vec<Contacts> =
            frames.iter().map(|frame| expected(frame, cell.as_ref(), [&first, &second], allows, cutoff)).collect();
        for most_compared in [0, MOST_COMPARED] {
            let contacts = ResidueContacts::new(
                60, &first, Some(&second), choice.clone(), cutoff, Shortest::WherePossible, true,
            );
            let mut contacts = contacts.unwrap();
            contacts.most_compared = most_compared;
            compare(&taken(&contacts, &frames, cell, 1), &expected);
        }
    }

    #[test]
    fn only_listed_pairs_are_looked_at(
        frames in frames(), cell in cells(), pairs in prop::collection::btree_set((0u32..8, 0u32..8), 1..12),
    ) {
        let group = units(&(0..8).collect::<Vec<_>>(), &residues(&[7, 3, 9, 12, 2, 5, 8, 6]));
        let pairs: Vec<[u32; 2]> = pairs.into_iter().filter(|(i, j)| i < j).map(|(i, j)| [i, j]).collect();
        let choice = Choice::Listed { n_units: 8, pairs: pairs.clone() };
        let expected: Vec<Contacts> = frames
            .iter()
            .map(|frame| expected(frame, cell.as_ref(), [&group, &group], |i, j| pairs.contains(&[i, j]), 6.0))
            .collect();
        let contacts = ResidueContacts::new(60, &group, None, choice, 6.0, Shortest::WherePossible, true).unwrap();
        compare(&taken(&contacts, &frames, cell, 2), &expected);
    }
}

#[test]
fn table_is_the_same_as_bytes() {
    let group = units(&[0, 1, 2], &[vec![0], vec![1], vec![2]]);
    let choice = Choice::Apart { positions: vec![0, 1, 2], separation: 1 };
    let contacts = ResidueContacts::new(3, &group, None, choice, 2.5, Shortest::Never, true).unwrap();
    let frame = |x: f32| vec![[0.0; 3], [x, 0.0, 0.0], [2.0 * x, 0.0, 0.0]];
    let frames: Vec<Frame> = [1.0, 2.0, 3.0, 1.5, 1.2].map(frame).to_vec();
    let whole = taken(&contacts, &frames, None, 0);
    let mut merged = Own::Here(Box::new(ContactTable::new(3, true)));
    for frames in frames.chunks(2) {
        let tally = mapped(contacts.clone(), &[batch(0, frames, None)]).unwrap();
        merged.merge(tally.own[0].clone());
    }
    let (pairs, series) = merged.here::<ContactTable>().unwrap().take();
    assert_eq!((pairs, series), (whole.pairs, whole.series));
}

#[test]
fn what_has_no_contacts_is_refused_or_named() {
    let two = units(&[0, 1], &[vec![0], vec![1]]);
    let apart = |positions: Vec<i64>, separation| Choice::Apart { positions, separation };
    let listed = |pair| Choice::Listed { n_units: 2, pairs: vec![pair] };
    let new = |first: &Units, choice, cutoff| {
        ResidueContacts::new(2, first, None, choice, cutoff, Shortest::WherePossible, false).map(|_| ())
    };
    for (result, expected) in [
        (new(&units(&[], &[]), apart(vec![0, 1], 1), 3.0), "no residues"),
        (new(&units(&[0, 1], &[vec![0], vec![]]), apart(vec![0, 1], 1), 3.0), "has no atoms"),
        (new(&units(&[0, 1], &[vec![0], vec![2]]), apart(vec![0, 1], 1), 3.0), "atom 2 of 2"),
        (new(&units(&[1, 0], &[vec![0], vec![1]]), apart(vec![0, 1], 1), 3.0), "ascending"),
        (new(&two, apart(vec![1, 1], 1), 3.0), "ascending"),
        (new(&two, apart(vec![0], 1), 3.0), "residue 1 of 1"),
        (new(&two, apart(vec![0, 1], 0), 3.0), "expected 1 or more"),
        (new(&two, listed([0, 2]), 3.0), "is in no group"),
        (new(&two, apart(vec![0, 1], 1), 0.0), "expected a length above 0"),
        (new(&two, apart(vec![0, 1], 1), f64::NAN), "expected a length above 0"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let cell = UnitCell::Dimensions([5.0, 9.0, 9.0, 90.0, 90.0, 90.0]);
    for (point, cell, expected) in
        [(1.0, Some(cell), "half the shortest"), (f32::NAN, None, "frame 8: atom 1 of the 2")]
    {
        let frames = [batch(8, &[vec![[0.0; 3], [point, 0.0, 0.0]]], cell)];
        let contacts =
            ResidueContacts::new(2, &two, None, apart(vec![0, 1], 1), 3.0, Shortest::WherePossible, false).unwrap();
        let message = mapped(contacts, &frames).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("frame 8"), "{message}");
    }
}
