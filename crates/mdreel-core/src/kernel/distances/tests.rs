//! Tests of distances against the formula, for all block boundaries.

use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::reduce::Tally;
use crate::unit_cell::UnitCell;

const N_ATOMS: usize = 6;
const CUTOFF: f64 = 12.0;

fn of_parts(distances: &Distances, parts: &[&[Vec<[f32; 3]>]], cell: Option<UnitCell>) -> Result<Tally> {
    let parts = parts.iter().filter(|frames| !frames.is_empty()).map(|frames| batch(0, frames, cell));
    mapped(distances.clone(), &parts.collect::<Vec<_>>())
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        Just(Some(UnitCell::Dimensions([20.0, 25.0, 30.0, 90.0, 90.0, 90.0]))),
        Just(Some(UnitCell::Dimensions([30.0, 30.0, 30.0, 60.0, 60.0, 90.0]))),
    ]
}

proptest! {
    #[test]
    fn distances_are_those_of_the_formula_and_their_sums_do_not_depend_on_how_frames_are_cut(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-40f32..40.0), N_ATOMS), 1..9),
        cell in cells(),
        to_points in any::<bool>(),
        far in prop::option::of(5e3f32..1e5),
        cut in 0usize..9,
    ) {
        let mut frames = frames;
        if let (Some(far), None) = (far, cell) {
            frames[0][1][2] = far;
        }
        let from = vec![4, 0, 1];
        let points: Vec<[f64; 3]> = vec![[1.0, 2.0, 3.0], [-30.0, 0.5, 9.0]];
        let to = if to_points { Other::Points(points.clone()) } else { Other::Atoms(vec![2, 4, 5, 1]) };
        let all = Distances::new(N_ATOMS, from.clone(), to.clone(), Shortest::WherePossible, Keep::All).unwrap();
        let rows = of_parts(&all, &[&frames], cell).unwrap().rows;
        let images = Periodic::new(cell.as_ref()).unwrap();
        let expected: Vec<Vec<f64>> = frames
            .iter()
            .map(|frame| {
                let point = |atom: u32| frame[atom as usize].map(f64::from);
                let others: Vec<[f64; 3]> = match &to {
                    Other::Points(points) => points.clone(),
                    Other::Atoms(atoms) => atoms.iter().map(|&atom| point(atom)).collect(),
                };
                let distance = |a: [f64; 3], b: [f64; 3]| {
                    let d = std::array::from_fn(|k| b[k] - a[k]);
                    images.map_or(d, |images| images.shortest(d)).iter().map(|x| x * x).sum::<f64>().sqrt()
                };
                from.iter().flat_map(|&atom| others.iter().map(move |&other| distance(point(atom), other))).collect()
            })
            .collect();
        let width = rows.width();
        for (row, expected) in rows.into_values().chunks(width).zip(&expected) {
            for (found, expected) in row[2..].iter().zip(expected) {
                prop_assert!((found - expected).abs() < 1e-9 * (1.0 + expected), "{} and {}", found, expected);
            }
        }
        let reduced = Distances::new(N_ATOMS, from, to, Shortest::WherePossible, Keep::Statistics(CUTOFF)).unwrap();
        let whole = of_parts(&reduced, &[&frames], cell).unwrap();
        let (left, right) = frames.split_at(cut % frames.len());
        let parts = of_parts(&reduced, &[right, left], cell).unwrap();
        prop_assert_eq!((&parts.sums, &parts.counts), (&whole.sums, &whole.counts));
        for (pair, [sum, square]) in whole.sums.as_chunks::<2>().0.iter().enumerate() {
            let of_pair = || expected.iter().map(|row| row[pair]);
            let (total, squares): (f64, f64) = (of_pair().sum(), of_pair().map(|d| d * d).sum());
            prop_assert!((sum.value() - total).abs() <= 1e-9 * (1.0 + total));
            prop_assert!((square.value() - squares).abs() <= 1e-7 + 1e-12 * squares);
            prop_assert_eq!(whole.counts[pair], of_pair().filter(|d| *d < CUTOFF).count() as u64);
        }
    }
}

#[test]
fn frame_without_distances_is_named() {
    for (wrong, expected) in [(f32::NAN, "atom 1 of the 6"), (1e9, "262 144 Å at most")] {
        let mut frames = vec![vec![[0.0; 3]; N_ATOMS]; 3];
        frames[1][1][0] = wrong;
        let keep = Keep::Statistics(1.0);
        let distances = Distances::new(N_ATOMS, vec![0], Other::Atoms(vec![1]), Shortest::Never, keep).unwrap();
        let message = of_parts(&distances, &[&frames], None).unwrap_err().to_string();
        assert!(message.contains("frame 1: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn frame_without_a_cell_that_must_have_one_is_named() {
    for keep in [Keep::All, Keep::Statistics(1.0)] {
        let distances = Distances::new(2, vec![0], Other::Atoms(vec![1]), Shortest::Always, keep).unwrap();
        let message = of_parts(&distances, &[&[vec![[0.0; 3]; 2]]], None).unwrap_err().to_string();
        assert!(message.contains("frame 0: no periodic cell"), "{message}");
    }
}

#[test]
fn new_refuses_what_has_no_distances() {
    let message = |from, to| Distances::new(3, from, to, Shortest::Never, Keep::All).unwrap_err().to_string();
    assert!(message(vec![], Other::Atoms(vec![1])).contains("no distances"));
    assert!(message(vec![1], Other::Points(vec![])).contains("no distances"));
    assert!(message(vec![1], Other::Atoms(vec![3])).contains("atom 3 of 3"));
}
