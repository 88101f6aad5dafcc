use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::reduce::Tally;
use crate::unit_cell::UnitCell;

const N: usize = 20;
const METHODS: [Method; 2] = [Method::Simplified, Method::KabschSander];

fn rules(method: Method) -> Rules {
    Rules { method, longest_bond: None, is_periodic: true }
}

/// Returns consecutive residues with N, CA, C, O and H each. Some are prolines.
fn residues(chain_ends: usize, hydrogen: impl Fn(u32) -> Hydrogen) -> Vec<Residue> {
    let residue = |i: u32| Residue {
        backbone: [5 * i, 5 * i + 1, 5 * i + 2, 5 * i + 3],
        chain: u32::from(i as usize >= chain_ends),
        hydrogen: if i % 7 == 4 { Hydrogen::Missing } else { hydrogen(i) },
    };
    (0..N as u32).map(residue).collect()
}

fn states(tally: Tally) -> Vec<Vec<u8>> {
    let width = tally.rows.width();
    let bytes = |row: &[f64]| row[2..].iter().flat_map(|value| value.to_ne_bytes()).take(N).collect();
    tally.rows.into_values().chunks_exact(width).map(bytes).collect()
}

/// Returns frames of crowded residues, so that many bonds form by chance. Coordinates are multiples of 1/64 Å.
fn frames() -> impl Strategy<Value = Vec<Vec<[f32; 3]>>> {
    let direction = || prop::array::uniform3(-80i32..80);
    let residue = (prop::array::uniform3(0i32..640), direction(), direction(), direction(), direction());
    let residue = residue.prop_map(|(n, ca, c, o, h)| {
        let sum = |a: [i32; 3], b: [i32; 3]| -> [i32; 3] { std::array::from_fn(|axis| a[axis] + b[axis]) };
        let carbon = sum(sum(n, ca), c);
        [n, sum(n, ca), carbon, sum(carbon, o), sum(n, h)].map(|point| point.map(|value| value as f32 / 64.0))
    });
    let frame = prop::collection::vec(residue, N).prop_map(|residues| residues.into_iter().flatten().collect());
    prop::collection::vec(frame, 2..5)
}

/// Returns the bonds of a frame, from a loop over all pairs of residues and the distances between their atoms.
fn bonds_of(method: Method, residues: &[Residue], frame: &[[f32; 3]]) -> Vec<(usize, usize)> {
    let at = |atom: u32| frame[atom as usize].map(f64::from);
    let minus = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] { std::array::from_fn(|axis| a[axis] - b[axis]) };
    let length = |v: [f64; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let unit = |v: [f64; 3]| if length(v) == 0.0 { v } else { v.map(|value| value / length(v)) };
    let hydrogen = |i: usize| {
        let [n, ca, ..] = residues[i].backbone.map(at);
        let is_first = i == 0 || residues[i - 1].chain != residues[i].chain;
        let direction = match residues[i].hydrogen {
            Hydrogen::Missing => return None,
            Hydrogen::Atom(atom) => return Some(at(atom)),
            Hydrogen::Placed if is_first => return None,
            Hydrogen::Placed => {
                let [_, _, c, o] = residues[i - 1].backbone.map(at);
                match method {
                    Method::Simplified => {
                        let (u, v) = (unit(minus(n, c)), unit(minus(n, ca)));
                        unit(std::array::from_fn(|axis| u[axis] + v[axis])).map(|value| 1.01 * value)
                    }
                    Method::KabschSander => unit(minus(c, o)),
                }
            }
        };
        Some(std::array::from_fn(|axis| n[axis] + direction[axis]))
    };
    let mut bonds = Vec::new();
    for donor in 0..N {
        let Some(h) = hydrogen(donor) else { continue };
        let mut of_donor: Vec<(f64, usize)> = Vec::new();
        for acceptor in 0..N {
            let ([n, ca, ..], [_, other_ca, c, o]) =
                (residues[donor].backbone.map(at), residues[acceptor].backbone.map(at));
            let inverse = |a, b| 1.0 / length(minus(a, b));
            let energy = 27.888 * (inverse(o, n) + inverse(c, h) - inverse(o, h) - inverse(c, n));
            let behind = donor as i64 - acceptor as i64;
            let counts = match method {
                Method::Simplified => !(0..=2).contains(&behind) && length(minus(n, o)) <= 5.0,
                Method::KabschSander => !(0..=1).contains(&behind) && length(minus(ca, other_ca)) < 9.0,
            };
            if energy < -0.5 && counts {
                of_donor.push((energy, acceptor));
            }
        }
        if method == Method::KabschSander {
            of_donor.sort_by(|a, b| a.0.total_cmp(&b.0));
            of_donor.truncate(2);
        }
        bonds.extend(of_donor.into_iter().map(|(_, acceptor)| (donor, acceptor)));
    }
    bonds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn states_are_those_of_the_bonds_of_all_pairs(
        frames in frames(), chain_ends in 0..2 * N, is_placed in any::<bool>(), cut in 1usize..4,
    ) {
        for method in METHODS {
            let hydrogen = |i: u32| if is_placed { Hydrogen::Placed } else { Hydrogen::Atom(5 * i + 4) };
            let residues = residues(chain_ends, hydrogen);
            let computation = || SecondaryStructure::new(5 * N, residues.clone(), rules(method)).unwrap();
            let found = mapped(computation(), &[batch(0, &frames, None)]).unwrap();
            let (left, right) = frames.split_at(cut.min(frames.len() - 1));
            let batches = [batch(0, left, None), batch(left.len() as u64, right, None)];
            for level in Level::available() {
                prop_assert_eq!(&mapped(computation().at_level(level), &batches).unwrap(), &found, "{}", level.name());
            }
            let counts = found.counts.clone();
            let found = states(found);
            for (frame, found) in frames.iter().zip(&found) {
                let bonds = Bonds::from_pairs(N, &bonds_of(method, &residues, frame));
                let mut backbone = Backbone::default();
                let columns: [Vec<f32>; 3] = std::array::from_fn(|axis| frame.iter().map(|point| point[axis]).collect());
                let [x, y, z] = columns.each_ref().map(|column| &column[..]);
                let is_finite = backbone.read(&residues, &rules(method), crate::frame::Columns { x, y, z }, None);
                prop_assert!(is_finite);
                let mut assignment = Assignment::default();
                prop_assert_eq!(assignment.of(method, &backbone, &bonds), &found[..]);
            }
            for (residue, counts) in counts.chunks_exact(method.n_states()).enumerate() {
                for (state, &count) in counts.iter().enumerate() {
                    let n = found.iter().filter(|states| method.counted(states[residue]) == state).count();
                    prop_assert_eq!(n as u64, count);
                }
            }
        }
    }

    #[test]
    fn states_do_not_depend_on_the_images_of_atoms(
        frames in frames(), shifts in prop::collection::vec(prop::array::uniform3(-2i8..3), 5 * N),
    ) {
        // Multiples of 1/64 Å prevent rounding.
        let lengths = [64.0, 48.0, 40.0];
        let cell = UnitCell::Dimensions([64.0, 48.0, 40.0, 90.0, 90.0, 90.0]);
        let moved = |(point, shift): (&[f32; 3], &[i8; 3])| -> [f32; 3] {
            std::array::from_fn(|axis| point[axis] + lengths[axis] * f32::from(shift[axis]))
        };
        let images: Vec<Vec<[f32; 3]>> =
            frames.iter().map(|frame| frame.iter().zip(&shifts).map(moved).collect()).collect();
        for method in METHODS {
            let of = |frames: &[Vec<[f32; 3]>], cell| {
                let computation = SecondaryStructure::new(5 * N, residues(N, |_| Hydrogen::Placed), rules(method)).unwrap();
                states(mapped(computation, &[batch(0, frames, cell)]).unwrap())
            };
            prop_assert_eq!(of(&images, Some(cell)), of(&frames, None));
        }
    }
}

#[test]
fn chain_ends_where_a_bond_is_too_long() {
    let points: Vec<[f32; 3]> =
        (0..5 * N).map(|i| [i as f32 * 0.7, (i % 3) as f32, if i >= 50 { 9.0 } else { 0.0 }]).collect();
    let columns: [Vec<f32>; 3] = std::array::from_fn(|axis| points.iter().map(|point| point[axis]).collect());
    let [x, y, z] = columns.each_ref().map(|column| &column[..]);
    let chains = |longest_bond| {
        let (mut backbone, rules) = (Backbone::default(), Rules { longest_bond, ..rules(Method::KabschSander) });
        backbone.read(&residues(15, |_| Hydrogen::Placed), &rules, crate::frame::Columns { x, y, z }, None);
        (backbone.chains, backbone.amides.len())
    };
    let (found, n_amides) = chains(None);
    assert_eq!(found, [[0; 15].as_slice(), &[1; 5]].concat());
    let (found, n_fewer) = chains(Some(4.0));
    assert_eq!(found, [[0; 10].as_slice(), &[1; 5], &[2; 5]].concat());
    assert_eq!(n_amides - n_fewer, 1);
}

#[test]
fn what_has_no_structure_is_refused_or_named() {
    let new = |residues, longest_bond| {
        SecondaryStructure::new(5 * N, residues, Rules { longest_bond, ..rules(Method::Simplified) }).map(|_| ())
    };
    for (result, expected) in [
        (new(Vec::new(), None), "no residues"),
        (
            new(vec![Residue { backbone: [0, 1, 2, 100], chain: 0, hydrogen: Hydrogen::Placed }], None),
            "atom 100 of 100",
        ),
        (new(residues(N, |_| Hydrogen::Atom(100)), None), "residue 0 needs atom 100"),
        (new(residues(N, |_| Hydrogen::Placed), Some(f64::NAN)), "expected a length"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    for wrong in [0, 1, 2, 3, 99] {
        let mut points: Vec<[f32; 3]> = (0..5 * N).map(|i| [i as f32, 0.0, 0.0]).collect();
        points[wrong][1] = f32::NAN;
        let computation =
            SecondaryStructure::new(5 * N, residues(N, |i| Hydrogen::Atom(5 * i + 4)), rules(Method::KabschSander))
                .unwrap();
        let message = mapped(computation, &[batch(6, &[points], None)]).unwrap_err().to_string();
        assert!(message.contains(&format!("frame 6: atom {wrong} of the 100 selected")), "{message}");
    }
}

#[test]
fn atoms_in_one_place_make_no_bonds() {
    let frames = [vec![[1.0; 3]; 5 * N]];
    for method in METHODS {
        let computation = SecondaryStructure::new(5 * N, residues(N, |_| Hydrogen::Placed), rules(method)).unwrap();
        let found = states(mapped(computation, &[batch(0, &frames, None)]).unwrap());
        assert!(found[0].iter().all(|state| *state == 0 || *state == 7), "{found:?}");
    }
}
