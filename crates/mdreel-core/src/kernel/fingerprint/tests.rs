use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::periodic::Periodic;
use crate::reduce::Own;
use crate::unit_cell::UnitCell;

pub(super) type Frame = Vec<[f32; 3]>;
pub(super) type Point = [f64; 3];
/// Column, sites and distance of an occurrence.
type Row = (Column, [u32; 2], f64);

const N_ATOMS: usize = 48;

pub(super) fn sites(atoms: &[&[u32]], residues: &[u32], radius: f64) -> Sites {
    let mut sites = Sites { starts: vec![0], residues: residues.to_vec(), ..Sites::default() };
    for of_site in atoms {
        sites.atoms.extend(*of_site);
        sites.starts.push(sites.atoms.len() as u32);
        sites.radii.push(radius);
    }
    sites
}

/// Returns sites of `n` atoms each. For group 0, they consist of atoms 0 to 23 in residues 0 to 3; otherwise, of the other
/// atoms in residues 0, 3, 4 and 6.
fn part(n: usize, group: u32) -> Sites {
    let atoms: Vec<Vec<u32>> =
        (0..24 / n as u32).map(|site| (0..n as u32).map(|k| 24 * group + n as u32 * site + k).collect()).collect();
    let slices: Vec<&[u32]> = atoms.iter().map(|of_site| &of_site[..]).collect();
    let residues: Vec<u32> = (0..atoms.len() as u32)
        .map(|site| if group == 0 { site % 4 } else { [3, 0, 4, 6][site as usize % 4] })
        .collect();
    sites(&slices, &residues, 1.0 + f64::from(group))
}

fn interactions() -> Vec<Interaction> {
    let of = |number: u32, name: &str, numbers: &[f64], [first, second]: [usize; 2], is_swapped: bool| {
        let groups = if is_swapped { [1, 0] } else { [0, 1] };
        let parts = [part(first, groups[0]), part(second, groups[1])];
        Interaction { number, rule: Rule::from_name(name, numbers).unwrap(), parts, is_swapped }
    };
    let few = sites(&[&[2], &[9]], &[1, 5], 1.0);
    let near = Rule::from_name("distance", &[5.0]).unwrap();
    vec![
        Interaction { number: 7, rule: near, parts: [few.clone(), part(1, 1)], is_swapped: false },
        Interaction { number: 8, rule: near, parts: [part(1, 1), few], is_swapped: true },
        of(0, "distance", &[4.0], [1, 1], false),
        of(1, "radii", &[0.5], [1, 1], true),
        of(2, "angle", &[5.0, 60.0, 150.0], [1, 2], false),
        of(3, "angle", &[5.0, 60.0, 180.0], [1, 2], true),
        of(4, "two-angles", &[6.0, 60.0, 170.0, 40.0, 140.0], [2, 2], false),
        of(5, "above-ring", &[6.0, 0.0, 50.0], [1, 5], true),
        of(6, "rings", &[6.5, 0.0, 60.0, 0.0, 70.0], [5, 5], false),
        of(6, "meeting-rings", &[6.5, 30.0, 90.0, 0.0, 80.0, 2.5], [5, 5], false),
    ]
}

pub(super) fn minus(u: Point, v: Point) -> Point {
    std::array::from_fn(|k| u[k] - v[k])
}

pub(super) fn norm(u: Point) -> f64 {
    u.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn unit(u: Point) -> Point {
    u.map(|value| value / norm(u))
}

pub(super) fn degrees(u: Point, v: Point) -> f64 {
    unit(u).iter().zip(unit(v)).map(|(one, other)| one * other).sum::<f64>().clamp(-1.0, 1.0).acos().to_degrees()
}

fn folded(degrees: f64) -> f64 {
    if degrees > 90.0 { 180.0 - degrees } else { degrees }
}

fn product(u: Point, v: Point) -> Point {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

/// Returns the point in two planes, through 0 and through `centre`, that is nearest to 0. The solution uses Cramer's rule.
fn meeting(first: Point, second: Point, centre: Point) -> Point {
    let line = product(first, second);
    let rows = [first, second, line];
    let right = [0.0, (0..3).map(|k| second[k] * centre[k]).sum(), 0.0];
    let determinant = |m: [Point; 3]| (0..3).map(|k| m[0][k] * product(m[1], m[2])[k]).sum::<f64>();
    std::array::from_fn(|column| {
        let mut replaced = rows;
        (0..3).for_each(|row| replaced[row][column] = right[row]);
        determinant(replaced) / determinant(rows)
    })
}

/// Returns the expected rows, from a loop over all pairs of sites of each interaction, and the smallest difference of an angle
/// or distance from its limit.
fn expected(frame: &Frame, cell: Option<&UnitCell>, interactions: &[Interaction], is_once: bool) -> (Vec<Row>, f64) {
    let images = Periodic::new(cell).unwrap();
    let at = |atom: u32| frame[atom as usize].map(f64::from);
    let vector =
        |from: Point, to: Point| images.as_ref().map_or(minus(to, from), |cell| cell.shortest(minus(to, from)));
    let ring = |atoms: &[u32]| {
        let whole: Vec<Point> = atoms.iter().map(|&atom| vector(at(atoms[0]), at(atom))).collect();
        let middle: Point = std::array::from_fn(|k| whole.iter().map(|d| d[k]).sum::<f64>() / whole.len() as f64);
        let centre: Point = std::array::from_fn(|k| at(atoms[0])[k] + middle[k]);
        (centre, product(unit(minus(whole[0], middle)), unit(minus(whole[1], middle))))
    };
    let (mut rows, mut margin) = (Vec::new(), f64::INFINITY);
    for Interaction { number, rule, parts, is_swapped } in interactions {
        for i in 0..parts[0].residues.len() {
            for j in 0..parts[1].residues.len() {
                let residues = [parts[0].residues[i], parts[1].residues[j]];
                let is_ordered = if *is_swapped { residues[1] < residues[0] } else { residues[0] < residues[1] };
                if residues[0] == residues[1] || (is_once && !is_ordered) {
                    continue;
                }
                let (one, other) = (parts[0].atoms_of(i), parts[1].atoms_of(j));
                // Value, lowest and highest value of each condition.
                let mut all: Vec<(f64, f64, f64)> = Vec::new();
                let apart = match rule {
                    Rule::Distance { distance } => {
                        let apart = norm(vector(at(one[0]), at(other[0])));
                        all.push((apart, 0.0, *distance));
                        apart
                    }
                    Rule::Radii { tolerance } => {
                        let apart = norm(vector(at(one[0]), at(other[0])));
                        all.push((apart, 0.0, parts[0].radii[i] + parts[1].radii[j] + tolerance));
                        apart
                    }
                    Rule::Angle { distance, angle } => {
                        let apart = norm(vector(at(one[0]), at(other[0])));
                        let hydrogen = at(other[1]);
                        let value = degrees(vector(hydrogen, at(other[0])), vector(hydrogen, at(one[0])));
                        all.extend([(apart, 0.0, *distance), limits(value, *angle)]);
                        apart
                    }
                    Rule::TwoAngles { distance, at_halogen, at_acceptor } => {
                        let (acceptor, halogen) = (at(one[0]), at(other[1]));
                        let apart = norm(vector(acceptor, halogen));
                        let first = degrees(vector(halogen, at(other[0])), vector(halogen, acceptor));
                        let second = degrees(vector(acceptor, halogen), vector(acceptor, at(one[1])));
                        all.extend([(apart, 0.0, *distance), limits(first, *at_halogen), limits(second, *at_acceptor)]);
                        apart
                    }
                    Rule::AboveRing { distance, angle } => {
                        let (centre, normal) = ring(other);
                        let up = vector(centre, at(one[0]));
                        all.extend([(norm(up), 0.0, *distance), limits(folded(degrees(normal, up)), *angle)]);
                        norm(up)
                    }
                    Rule::Rings { distance, plane, normal, meeting: radius } => {
                        let ((first, n), (second, m)) = (ring(one), ring(other));
                        let between = vector(first, second);
                        let of_planes = folded(degrees(n, m));
                        all.extend([(norm(between), 0.0, *distance), limits(of_planes, *plane)]);
                        let [low, high] = normal.map(f64::to_degrees);
                        let of_normals = [n, m].map(|one| folded(degrees(one, between)));
                        let nearest = of_normals.into_iter().min_by(|a, b| (a - low).abs().total_cmp(&(b - low).abs()));
                        all.push((nearest.unwrap(), low, high));
                        if let Some(radius) = radius {
                            let point = meeting(n, m, between);
                            all.push((norm(point).min(norm(minus(point, between))), 0.0, *radius));
                        }
                        norm(between)
                    }
                };
                for (value, low, high) in &all {
                    margin = margin.min((value - high).abs());
                    margin = if *low > 0.0 { margin.min((value - low).abs()) } else { margin };
                }
                if all.iter().all(|(value, low, high)| (*low..=*high).contains(value)) {
                    let (residues, sites) =
                        if *is_swapped { ([1, 0].map(|k| residues[k]), [j, i]) } else { (residues, [i, j]) };
                    rows.push(([residues[0], residues[1], *number], sites.map(|site| site as u32), apart));
                }
            }
        }
    }
    rows.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
    (rows, margin)
}

fn limits(value: f64, limits: [f64; 2]) -> (f64, f64, f64) {
    let [low, high] = limits.map(f64::to_degrees);
    // Angles cannot exceed 180 degrees, so values cannot be close to violating this limit.
    (value, low, if high > 179.9 { 1e3 } else { high })
}

/// Returns the rows of all frames as listed in the table.
fn rows(tally: &mut crate::reduce::Tally) -> Vec<Vec<Row>> {
    let (columns, entries, counts, occurrences) = tally.own[0].here::<FingerprintTable>().unwrap().take();
    assert!(columns.windows(2).all(|pair| pair[0] < pair[1]), "columns ascend");
    let (sites, distances, _) = occurrences.unwrap();
    let (mut entry, mut next) = (0, 0);
    let frames = (0..2).map(|k| tally.rows.column(k).map(|count| count as usize).collect::<Vec<_>>());
    let [n_entries, n_occurrences] = <[Vec<usize>; 2]>::try_from(frames.collect::<Vec<_>>()).unwrap();
    let frames = n_entries.into_iter().zip(n_occurrences).map(|(n_entries, n_occurrences)| {
        let mut found = Vec::new();
        for _ in 0..n_entries {
            for _ in 0..counts[entry] {
                found.push((columns[entries[entry] as usize], sites[next], f64::from(distances[next])));
                next += 1;
            }
            entry += 1;
        }
        assert_eq!(found.len(), n_occurrences);
        found
    });
    frames.collect()
}

pub(super) fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        prop::array::uniform3(13.1f32..30.0)
            .prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (20f32..40.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
        (20f32..40.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53]))),
    ]
}

proptest! {
    #[test]
    fn interactions_are_those_of_all_sites(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-7f32..7.0), N_ATOMS), 1..4),
        cell in cells(), cut in 0usize..3, is_once in any::<bool>(),
    ) {
        let interactions = interactions();
        let expected: Vec<_> = frames.iter().map(|frame| expected(frame, cell.as_ref(), &interactions, is_once)).collect();
        prop_assume!(expected.iter().all(|(_, margin)| *margin > 1e-9));
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let mut batches = vec![batch(left.len() as u64, right, cell)];
        if !left.is_empty() {
            batches.insert(0, batch(0, left, cell));
        }
        let mut bits = None;
        for level in Level::available() {
            let whole = Fingerprint::new(N_ATOMS, interactions.clone(), Shortest::WherePossible, is_once, true).unwrap();
            let mut tally = mapped(whole.at_level(level), &batches).unwrap();
            let found = rows(&mut tally);
            for (found, (expected, _)) in found.iter().zip(&expected) {
                prop_assert_eq!(found.len(), expected.len());
                for (one, other) in found.iter().zip(expected) {
                    prop_assert_eq!((one.0, one.1), (other.0, other.1));
                    prop_assert!((one.2 - other.2).abs() < 1e-5, "{} and {}", one.2, other.2);
                }
            }
            prop_assert_eq!(bits.get_or_insert_with(|| found.clone()), &found, "{}", level.name());
        }
    }
}

#[test]
fn each_interaction_of_the_tests_occurs() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(prop::array::uniform3(-7f32..7.0), N_ATOMS);
    let mut found = [0; 9];
    for _ in 0..40 {
        let frame = strategy.new_tree(&mut runner).unwrap().current();
        for (column, _, _) in expected(&frame, None, &interactions(), false).0 {
            found[column[2] as usize] += 1;
        }
    }
    assert!(found.iter().all(|&n| n > 5), "{found:?}");
}

#[test]
fn table_is_the_same_as_bytes() {
    let frame =
        |x: f32| -> Frame { (0..N_ATOMS).map(|k| [x * (k % 7) as f32, (k % 5) as f32, (k / 9) as f32]).collect() };
    let frames: Vec<Frame> = [0.5, 1.0, 9.0, 1.5, 0.2].map(frame).to_vec();
    let whole = Fingerprint::new(N_ATOMS, interactions(), Shortest::Never, false, true).unwrap();
    let entries =
        mapped(whole.clone(), &[batch(0, &frames, None)]).unwrap().own[0].here::<FingerprintTable>().unwrap().take();
    assert!(entries.1.len() > 20);
    let mut merged = Own::Here(Box::new(FingerprintTable::new(true, false)));
    for frames in frames.chunks(2) {
        merged.merge(mapped(whole.clone(), &[batch(0, frames, None)]).unwrap().own[0].clone());
    }
    assert_eq!(merged.here::<FingerprintTable>().unwrap().take(), entries);
}

#[test]
fn what_has_no_geometry_is_refused_or_named() {
    let one = sites(&[&[0], &[1]], &[0, 1], 1.0);
    let new = |name: &str, numbers: &[f64], parts: [Sites; 2]| {
        let rule = Rule::from_name(name, numbers)?;
        let interaction = Interaction { number: 0, rule, parts, is_swapped: false };
        Fingerprint::new(3, vec![interaction], Shortest::WherePossible, false, false)
    };
    let both = [one.clone(), one.clone()];
    let bare = Sites { radii: Vec::new(), ..one.clone() };
    for (result, expected) in [
        (new("distance", &[], both.clone()), "no rule distance"),
        (new("near", &[3.0], both.clone()), "no rule near"),
        (new("distance", &[f64::NAN], both.clone()), "no rule"),
        (new("distance", &[3.0], [one.clone(), sites(&[&[3]], &[0], 1.0)]), "atom 3 of 3"),
        (new("angle", &[3.0, 0.0, 180.0], both.clone()), "expected 2"),
        (new("rings", &[3.0, 0.0, 1.0, 0.0, 1.0], both.clone()), "expected 3 or more"),
        (new("radii", &[0.0], [bare, one.clone()]), "a radius of each atom"),
    ] {
        let message = result.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let cell = UnitCell::Dimensions([5.0, 9.0, 9.0, 90.0, 90.0, 90.0]);
    for (x, cell, expected) in [(1.0, Some(cell), "half the shortest"), (f32::NAN, None, "frame 8: atom 2 of the 3")] {
        let frames = [batch(8, &[vec![[0.0; 3], [1.0, 0.0, 0.0], [x, 0.0, 0.0]]], cell)];
        let message = mapped(new("distance", &[3.0], both.clone()).unwrap(), &frames).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("frame 8"), "{message}");
    }
}
