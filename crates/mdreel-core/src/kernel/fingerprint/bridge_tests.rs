use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::tests::{Frame, Point, cells, degrees, minus, norm, sites};
use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::periodic::Periodic;
use crate::reduce::Own;
use crate::unit_cell::UnitCell;

/// Residues of the first group. Each residue and water has an acceptor, and a donor with a hydrogen.
const FIRST: std::ops::Range<u32> = 0..4;
/// Residues of the second group.
const SECOND: std::ops::Range<u32> = 3..7;
/// Waters.
const WATERS: std::ops::Range<u32> = 7..13;
/// A water that is also a residue of the second group.
const BOTH: u32 = 7;
const N_ATOMS: usize = 3 * 13;
/// First residue, second residue, waters, sites and distance.
type Chain = (u32, u32, Vec<u32>, [u32; 2], f64);

fn acceptors(residues: &[u32]) -> Sites {
    let atoms: Vec<[u32; 1]> = residues.iter().map(|residue| [3 * residue]).collect();
    sites(&atoms.iter().map(|atoms| &atoms[..]).collect::<Vec<_>>(), residues, 1.0)
}

fn donors(residues: &[u32]) -> Sites {
    let atoms: Vec<[u32; 2]> = residues.iter().map(|residue| [3 * residue + 1, 3 * residue + 2]).collect();
    sites(&atoms.iter().map(|atoms| &atoms[..]).collect::<Vec<_>>(), residues, 1.0)
}

/// Returns the residues of the first group, the residues of the second group, and the waters.
fn groups(is_one: bool) -> [Vec<u32>; 3] {
    let second: Vec<u32> = SECOND.chain([BOTH]).collect();
    [if is_one { second.clone() } else { FIRST.collect() }, second, WATERS.collect()]
}

/// Returns the distance and the lowest angle of bonds in which the residue nearer to the first group accepts, and of bonds in
/// which it donates.
fn rules(is_same: bool) -> [[f64; 2]; 2] {
    [[4.0, 70.0], if is_same { [4.0, 70.0] } else { [4.6, 95.0] }]
}

fn bridges(waters: [u32; 2], is_one: bool, is_same: bool) -> Bridges {
    let groups = groups(is_one);
    let of = |[from, to]: [usize; 2]| {
        let [accepting, donating] =
            rules(is_same).map(|[distance, low]| Rule::from_name("angle", &[distance, low, 180.0]).unwrap());
        let [one, other] = [&groups[from][..], &groups[to]];
        [
            Interaction { number: 0, rule: accepting, parts: [acceptors(one), donors(other)], is_swapped: false },
            Interaction { number: 0, rule: donating, parts: [acceptors(other), donors(one)], is_swapped: true },
        ]
    };
    let of_waters = (waters[1] > 1).then(|| of([2, 2]));
    Bridges { number: 5, waters, of_first: of([0, 2]), of_second: of([2, 1]), of_waters }
}

/// Returns the expected chains, followed from each residue of the first group, and the smallest difference of a distance or
/// angle from its limit.
fn expected(
    frame: &Frame,
    cell: Option<&UnitCell>,
    [fewest, most]: [u32; 2],
    is_one: bool,
    is_same: bool,
) -> (Vec<Chain>, f64) {
    let images = Periodic::new(cell).unwrap();
    let at = |atom: u32| frame[atom as usize].map(f64::from);
    let vector =
        |from: Point, to: Point| images.as_ref().map_or(minus(to, from), |cell| cell.shortest(minus(to, from)));
    let margin = std::cell::Cell::new(f64::INFINITY);
    // Returns the bonds from a residue to the next one: whether the residue donates, and the distance.
    let bonds = |from: u32, to: u32| -> Vec<(bool, f64)> {
        let holds = |acceptor: u32, donor: u32, [distance, low]: [f64; 2]| {
            let (acceptor, donor, hydrogen) = (at(3 * acceptor), at(3 * donor + 1), at(3 * donor + 2));
            let apart = norm(vector(acceptor, donor));
            let angle = degrees(vector(hydrogen, donor), vector(hydrogen, acceptor));
            margin.set(margin.get().min((apart - distance).abs()).min((angle - low).abs()));
            (from != to && apart <= distance && angle >= low).then_some(apart)
        };
        let [accepting, donating] = rules(is_same);
        let found = [(false, holds(from, to, accepting)), (true, holds(to, from, donating))];
        found.into_iter().filter_map(|(donates, apart)| apart.map(|apart| (donates, apart))).collect()
    };
    let [first, second, waters] = groups(is_one);
    let site = |group: &[u32], residue: u32, donates: bool| {
        let place = group.iter().position(|one| *one == residue).unwrap();
        (place + if donates { group.len() } else { 0 }) as u32
    };
    let mut found = Vec::new();
    for &start in &first {
        let mut chains: Vec<(Vec<u32>, u32, f64)> = vec![(Vec::new(), 0, 0.0)];
        for n_waters in 0..=most {
            let mut longer = Vec::new();
            for (passed, of_start, distance) in &chains {
                let last = passed.last().copied().unwrap_or(start);
                for &end in second.iter().filter(|end| n_waters >= fewest && **end != start && !passed.contains(end)) {
                    for (donates, apart) in bonds(last, end) {
                        // If the water accepts, the site of the second group donates.
                        let sites = [*of_start, site(&second, end, !donates)];
                        if !is_one || start < end {
                            found.push((start, end, passed.clone(), sites, distance + apart));
                        }
                    }
                }
                for &next in waters.iter().filter(|next| **next != start && !passed.contains(next)) {
                    for (donates, apart) in bonds(last, next) {
                        let of_start = if passed.is_empty() { site(&first, start, donates) } else { *of_start };
                        longer.push(([&passed[..], &[next]].concat(), of_start, distance + apart));
                    }
                }
            }
            chains = longer;
        }
    }
    found.sort_by(|a, b| (a.0, a.1, a.3).cmp(&(b.0, b.1, b.3)).then(a.4.total_cmp(&b.4)));
    (found, margin.get())
}

fn computation(waters: [u32; 2], is_one: bool, is_same: bool) -> Fingerprint {
    let none = Fingerprint::new(N_ATOMS, Vec::new(), Shortest::WherePossible, is_one, true).unwrap();
    none.with_bridges(bridges(waters, is_one, is_same)).unwrap()
}

fn chains(table: &mut FingerprintTable) -> Vec<Chain> {
    let (columns, entries, counts, occurrences) = table.take();
    let (sites, distances, bridged) = occurrences.unwrap();
    let (n_waters, waters) = bridged.unwrap();
    let columns = entries.iter().zip(&counts).flat_map(|(entry, n)| vec![columns[*entry as usize]; *n as usize]);
    let mut rest = &waters[..];
    let rows = columns.zip(sites).zip(distances).zip(n_waters).map(|((([first, second, number], sites), d), n)| {
        assert_eq!(number, 5);
        let (passed, behind) = rest.split_at(usize::from(n));
        rest = behind;
        (first, second, passed.to_vec(), sites, f64::from(d))
    });
    let found = rows.collect();
    assert!(rest.is_empty());
    found
}

proptest! {
    #[test]
    fn bridges_are_all_chains_of_bonds(
        frame in prop::collection::vec(prop::array::uniform3(-3f32..3.0), N_ATOMS),
        cell in cells(), fewest in 1u32..4, more in 0u32..3, is_one in any::<bool>(), is_same in any::<bool>(),
    ) {
        let waters = [fewest, fewest + more];
        let (expected, margin) = expected(&frame, cell.as_ref(), waters, is_one, is_same);
        prop_assume!(margin > 1e-9);
        let mut bits = None;
        for level in Level::available() {
            let whole = computation(waters, is_one, is_same).at_level(level);
            let mut tally = mapped(whole, &[batch(0, std::slice::from_ref(&frame), cell)]).unwrap();
            let found = chains(tally.own[0].here::<FingerprintTable>().unwrap());
            prop_assert_eq!(found.len(), expected.len());
            for (one, other) in found.iter().zip(&expected) {
                prop_assert_eq!((one.0, one.1, one.3), (other.0, other.1, other.3));
                prop_assert!((one.4 - other.4).abs() < 1e-4, "{} and {}", one.4, other.4);
            }
            let sorted = |chains: &[Chain]| {
                let mut keys: Vec<_> = chains.iter().map(|one| (one.0, one.1, one.3, one.2.clone())).collect();
                keys.sort();
                keys
            };
            prop_assert_eq!(sorted(&found), sorted(&expected));
            prop_assert_eq!(bits.get_or_insert_with(|| found.clone()), &found, "{}", level.name());
        }
    }
}

#[test]
fn table_of_bridges_is_the_same_as_bytes() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(prop::array::uniform3(-2.5f32..2.5), N_ATOMS);
    let frames: Vec<Frame> = (0..100).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let whole = computation([1, 3], false, true);
    let mut tally = mapped(whole.clone(), &[batch(0, &frames, None)]).unwrap();
    let expected = chains(tally.own[0].here::<FingerprintTable>().unwrap());
    assert!(expected.iter().any(|chain| chain.2.len() > 1), "{}", expected.len());
    let mut merged = Own::Here(Box::new(FingerprintTable::new(true, true)));
    for frames in frames.chunks(7) {
        merged.merge(mapped(whole.clone(), &[batch(0, frames, None)]).unwrap().own[0].clone());
    }
    assert_eq!(chains(merged.here::<FingerprintTable>().unwrap()), expected);
}

#[test]
fn bridges_without_meaning_are_refused() {
    let refused = |bridges: Bridges| {
        let none = Fingerprint::new(N_ATOMS, Vec::new(), Shortest::WherePossible, false, false).unwrap();
        none.with_bridges(bridges).map(|_| ()).unwrap_err().to_string()
    };
    let valid = bridges([1, 2], false, true);
    for waters in [[0, 1], [3, 2], [1, 11]] {
        let message = refused(Bridges { waters, ..valid.clone() });
        assert!(message.contains("no bridges of"), "{message}");
    }
    assert!(refused(Bridges { of_waters: None, ..valid.clone() }).contains("1 to 2 waters"));
    let mut near = valid.clone();
    near.of_first[0].rule = Rule::from_name("distance", &[3.0]).unwrap();
    assert!(refused(near).contains("must be hydrogen bonds"));
    let mut outside = valid;
    outside.of_second[1].parts[0] = acceptors(&[40]);
    assert!(refused(outside).contains("atom 120 of 39"));
}
