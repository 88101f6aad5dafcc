use std::ops::Range;

use proptest::prelude::*;

use super::sphere::golden_spiral;
use super::*;
use crate::kernel::fixture::{batch, mapped, right_of_origin, those_right_of_origin};
use crate::reduce::Tally;
use crate::unit_cell::UnitCell;

/// A radius (Å) and a position.
type Atom = (f64, [f32; 3]);

fn given(atoms: &[Atom]) -> (Vec<f64>, Vec<[f32; 3]>) {
    atoms.iter().copied().unzip()
}

/// Assigns each atom its own area.
fn each(n_atoms: usize) -> Vec<[u32; 2]> {
    (0..n_atoms as u32).map(|atom| [atom, atom]).collect()
}

fn tally(
    atoms: &[Atom],
    (probe, n_points): (f64, usize),
    cell: Option<UnitCell>,
    (keep, level): (Keep, Level),
) -> Result<Tally> {
    let (radii, positions) = given(atoms);
    let surface = SurfaceArea::new(&radii, probe, n_points, each(radii.len()), cell.is_some(), keep)?.at_level(level);
    mapped(surface, &[batch(5, &[positions], cell)])
}

fn areas(atoms: &[Atom], probe: f64, n_points: usize, cell: Option<UnitCell>) -> Vec<f64> {
    let keep = (Keep::All, Level::detect());
    tally(atoms, (probe, n_points), cell, keep).unwrap().rows.into_values().split_off(3)
}

/// Returns the expected areas, from a loop over all points of all spheres and all other atoms and their nearby images.
fn slow(atoms: &[Atom], probe: f64, n_points: usize, cell: Option<UnitCell>) -> Vec<f64> {
    let vectors = cell.map_or([[0.0; 3]; 3], |cell| Periodic::new(Some(&cell)).unwrap().unwrap().vectors());
    let most = if cell.is_some() { 3 } else { 0 };
    let images = move || {
        let steps = move || (-most..=most).map(f64::from);
        steps().flat_map(move |i| steps().flat_map(move |j| steps().map(move |k| [i, j, k])))
    };
    let mut others = Vec::new();
    for (number, (radius, position)) in atoms.iter().enumerate() {
        for [i, j, k] in images() {
            let image: [f64; 3] = std::array::from_fn(|axis| {
                f64::from(position[axis]) + i * vectors[0][axis] + j * vectors[1][axis] + k * vectors[2][axis]
            });
            others.push((number, [i, j, k] == [0.0; 3], radius + probe, image));
        }
    }
    let points = golden_spiral(n_points);
    let area = |(number, (radius, position)): (usize, &Atom)| {
        let radius = radius + probe;
        let is_open = |point: &&[f64; 3]| {
            let at: [f64; 3] = std::array::from_fn(|axis| f64::from(position[axis]) + radius * point[axis]);
            others.iter().all(|(other, is_itself, of_other, image)| {
                let square: f64 = (0..3).map(|axis| (at[axis] - image[axis]).powi(2)).sum();
                (*other == number && *is_itself) || square >= of_other * of_other
            })
        };
        let n_open = points.iter().filter(is_open).count();
        n_open as f64 * 4.0 * PI * radius * radius / n_points as f64
    };
    atoms.iter().enumerate().map(area).collect()
}

fn atoms(n: Range<usize>, side: f32) -> impl Strategy<Value = Vec<Atom>> {
    prop::collection::vec((0.8f64..2.2, prop::array::uniform3(0f32..side)), n)
}

fn close(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn areas_are_those_of_all_points_looked_at(
        atoms in atoms(1..30, 9.0), probe in 0f64..2.0, n_points in prop_oneof![1usize..30, Just(100), Just(960)],
    ) {
        let found = tally(&atoms, (probe, n_points), None, (Keep::All, Level::detect())).unwrap();
        for level in Level::available() {
            prop_assert_eq!(&tally(&atoms, (probe, n_points), None, (Keep::All, level)).unwrap(), &found);
        }
        let values = found.rows.into_values().split_off(2);
        let expected = slow(&atoms, probe, n_points, None);
        prop_assert!(close(&values[1..], &expected), "{:?} and {:?}", &values[1..], expected);
        prop_assert!((values[0] - expected.iter().sum::<f64>()).abs() < 1e-9);
    }

    #[test]
    fn areas_of_many_atoms_are_those_of_all_points_looked_at(atoms in atoms(100..250, 14.0), probe in 0f64..1.5) {
        let (found, expected) = (areas(&atoms, probe, 16, None), slow(&atoms, probe, 16, None));
        prop_assert!(close(&found, &expected), "{:?} and {:?}", found, expected);
    }

    #[test]
    fn images_of_atoms_cover_as_atoms_do(atoms in atoms(1..12, 14.0), probe in 0f64..1.0, kind in 0usize..3) {
        let dimensions = [
            [14.0, 15.0, 16.0, 90.0, 90.0, 90.0], [20.0, 20.0, 20.0, 60.0, 60.0, 90.0], [18.0, 18.0, 18.0, 70.53, 109.47, 70.53],
        ];
        let cell = Some(UnitCell::Dimensions(dimensions[kind]));
        let (found, expected) = (areas(&atoms, probe, 92, cell), slow(&atoms, probe, 92, cell));
        prop_assert!(close(&found, &expected), "{:?} and {:?}", found, expected);
    }

    #[test]
    fn areas_go_with_their_atoms(atoms in atoms(1..30, 9.0), turn in 1usize..30, shift in -4i8..5) {
        let found = areas(&atoms, 1.4, 100, None);
        let mut moved: Vec<Atom> =
            atoms.iter().map(|(radius, position)| (*radius, position.map(|x| x + 16.0 * f32::from(shift)))).collect();
        // The shift rounds positions to float32. These positions have the same rounding errors without the shift.
        let rounded: Vec<Atom> =
            moved.iter().map(|(radius, position)| (*radius, position.map(|x| x - 16.0 * f32::from(shift)))).collect();
        prop_assert_eq!(areas(&moved, 1.4, 100, None), areas(&rounded, 1.4, 100, None));
        moved = atoms.clone();
        moved.rotate_left(turn % atoms.len());
        let mut expected = found.clone();
        expected.rotate_left(turn % atoms.len());
        prop_assert_eq!(areas(&moved, 1.4, 100, None), expected);
    }

    #[test]
    fn one_more_atom_leaves_no_more_of_others(atoms in atoms(2..30, 9.0)) {
        let (fewer, all) = (areas(&atoms[1..], 1.4, 100, None), areas(&atoms, 1.4, 100, None));
        prop_assert!(fewer.iter().zip(&all[1..]).all(|(alone, together)| together <= alone));
    }

    #[test]
    fn what_is_left_does_not_depend_on_how_frames_are_cut(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(0f32..8.0), 9), 2..6), cut in 1usize..5,
    ) {
        let radii = [1.1, 1.7, 1.55, 1.52, 1.8, 1.1, 1.7, 1.7, 1.2];
        let measured: Vec<[u32; 2]> = [0u32, 1, 2, 5, 7, 8].into_iter().zip([0, 0, 1, 2, 1, 1]).map(<[u32; 2]>::from).collect();
        let made = |keep| SurfaceArea::new(&radii, 1.4, 60, measured.clone(), false, keep).unwrap();
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let parts = [batch(0, left, None), batch(left.len() as u64, right, None)];
        let whole = mapped(made(Keep::All), &[batch(0, &frames, None)]).unwrap();
        prop_assert_eq!(&mapped(made(Keep::All), &parts).unwrap(), &whole);
        let sums = mapped(made(Keep::Statistics), &parts).unwrap();
        prop_assert_eq!(&sums, &mapped(made(Keep::Statistics), &[batch(0, &frames, None)]).unwrap());
        let total = mapped(made(Keep::Total), &parts).unwrap();
        prop_assert_eq!(&total.rows, &sums.rows);
        prop_assert!(total.rows.column(0).eq(whole.rows.column(0)));
        for (area, [sum, squares]) in sums.sums.as_chunks::<2>().0.iter().enumerate() {
            let values = || whole.rows.column(1 + area);
            prop_assert!((sum.value() - values().sum::<f64>()).abs() < 1e-9);
            prop_assert!((squares.value() - values().map(|area| area * area).sum::<f64>()).abs() < 1e-6);
        }
    }
}

#[test]
fn atom_alone_shows_all_of_its_sphere() {
    assert!(close(&areas(&[(1.6, [3.0; 3])], 1.4, 960, None), &[36.0 * PI]));
    let (far, one) = ([(1.6, [0.0; 3]), (1.6, [6.0, 0.0, 0.0])], 36.0 * PI);
    assert!(close(&areas(&far, 1.4, 960, None), &[one, one]));
}

#[test]
fn two_spheres_lose_the_caps_that_they_have_in_one_another() {
    for distance in [0.5f32, 1.5, 3.0, 5.0, 5.9] {
        let found = areas(&[(1.6, [0.0; 3]), (1.6, [0.0, distance, 0.0])], 1.4, 10_000, None);
        let expected = 36.0 * PI - 2.0 * PI * 3.0 * (3.0 - f64::from(distance) / 2.0);
        assert!(found.iter().all(|area| (area - expected).abs() < 0.05), "{found:?} and {expected}");
    }
}

#[test]
fn atom_inside_another_shows_nothing_and_atoms_in_one_place_both_show() {
    let found = areas(&[(1.0, [0.0; 3]), (5.0, [0.5, 0.0, 0.0])], 0.0, 100, None);
    assert!(close(&found, &[0.0, 100.0 * PI]));
    assert!(close(&areas(&[(1.0, [2.0; 3]), (1.0, [2.0; 3])], 0.0, 50, None), &[4.0 * PI; 2]));
    assert!(close(&areas(&[(0.0, [2.0; 3]), (1.0, [2.5; 3])], 0.0, 50, None), &[0.0, 4.0 * PI]));
}

#[test]
fn what_has_no_surface_is_refused() {
    let made = |radii: &[f64], probe, n_points, measured| {
        let surface = SurfaceArea::new(radii, probe, n_points, measured, false, Keep::All);
        surface.map(|_| ()).unwrap_err().to_string()
    };
    for (message, expected) in [
        (made(&[1.0], 1.4, 0, each(1)), "0 points: expected 1 to"),
        (made(&[1.0], f64::NAN, 9, each(1)), "the probe has a radius of NaN Å"),
        (made(&[1.0, -1.0], 1.4, 9, each(2)), "atom 1 has a radius of -1 Å"),
        (made(&[1.0], 1.4, 9, each(2)), "needs atom 1 of 1"),
        (made(&[1.0], 1.4, 9, vec![]), "0 atoms have no 0 areas"),
        (made(&[1.0], 1.4, 9, vec![[0, 1]]), "1 atoms have no 2 areas"),
        (Keep::from_name("some").unwrap_err().to_string(), "known: total, all, statistics"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn frame_that_cannot_be_measured_is_named() {
    let refused = |atoms: &[Atom], keep, cell, is_periodic| {
        let (radii, positions) = given(atoms);
        let surface = SurfaceArea::new(&radii, 1.4, 24, each(radii.len()), is_periodic, keep).unwrap();
        mapped(surface, &[batch(5, &[positions], cell)]).unwrap_err().to_string()
    };
    let small = Some(UnitCell::Dimensions([20.0, 6.0, 20.0, 90.0, 90.0, 90.0]));
    let atom = [(1.0, [0.0f32; 3])];
    for (message, expected) in [
        (refused(&[(1.0, [f32::NAN; 3])], Keep::All, None, false), "frame 5: atom 0 of the 1 selected"),
        (refused(&atom, Keep::All, None, true), "frame 5: no periodic cell"),
        (refused(&atom, Keep::All, small, true), "frame 5: half the shortest lattice vector of the cell is 3 Å, below"),
        (refused(&[(900.0, [0.0; 3])], Keep::Statistics, None, false), "frame 5: an area is"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn areas_of_a_group_that_changes_are_those_of_the_atoms_of_each_frame() {
    let point = |k: u32, frame: u32| [0, 1, 2].map(|axis| ((k * 7 + axis * 5 + frame * 11) % 13) as f32 - 6.0);
    let frames: Vec<Vec<[f32; 3]>> = (0..4).map(|frame| (0..12).map(|k| point(k, frame)).collect()).collect();
    let radii: Vec<f64> = (0..12).map(|k| 1.2 + 0.1 * f64::from(k % 5)).collect();
    let (covering, possible): (Vec<u32>, [u32; 6]) = ((1..12).collect(), [2, 3, 5, 7, 8, 11]);
    for is_alone in [true, false] {
        // Each area has two atoms.
        let measured: Vec<[u32; 2]> = (0..).zip(possible).map(|(k, atom)| [atom - 1, k / 2]).collect();
        let made = |keep| {
            let surface = SurfaceArea::new(&radii[1..], 1.4, 200, measured.clone(), false, keep).unwrap();
            surface.of_changing(12, covering.clone(), right_of_origin(12, &possible), is_alone)
        };
        let found = mapped(made(Keep::Statistics).unwrap(), &[batch(0, &frames, None)]).unwrap();
        let total = mapped(made(Keep::Total).unwrap(), &[batch(0, &frames[..1], None), batch(1, &frames[1..], None)]);
        assert_eq!(total.unwrap().rows, found.rows);
        assert!(made(Keep::All).unwrap_err().to_string().contains("not kept"));
        let (mut sums, mut counts) = ([0.0; 6], [0; 3]);
        for (frame, total) in frames.iter().zip(found.rows.column(0)) {
            let current = those_right_of_origin(frame, &possible);
            let others = if is_alone { &current } else { &covering };
            let atoms: Vec<Atom> = others.iter().map(|&atom| (radii[atom as usize], frame[atom as usize])).collect();
            let of_all = if atoms.is_empty() { Vec::new() } else { areas(&atoms, 1.4, 200, None) };
            let mut of_areas = [0.0; 3];
            for (k, atom) in possible.iter().enumerate().filter(|(_, atom)| current.contains(atom)) {
                let place = others.iter().position(|other| other == atom).unwrap();
                of_areas[k / 2] += of_all[place];
            }
            for k in 0..3 {
                counts[k] += u64::from(current.contains(&possible[2 * k]) || current.contains(&possible[2 * k + 1]));
                sums[2 * k] += of_areas[k];
                sums[2 * k + 1] += of_areas[k] * of_areas[k];
            }
            assert!((total - of_areas.iter().sum::<f64>()).abs() < 1e-9);
        }
        assert_eq!(found.counts, counts);
        assert!(found.sums.iter().zip(sums).all(|(found, expected)| (found.value() - expected).abs() < 1e-6));
    }
}

#[test]
fn group_that_changes_must_be_what_is_measured() {
    let made = |n_atoms, places: Vec<u32>, group: &[u32]| {
        let surface = SurfaceArea::new(&[1.5; 3], 1.4, 10, vec![[1, 0]], false, Keep::Total).unwrap();
        surface.of_changing(n_atoms, places, right_of_origin(4, group), true).map(|_| ()).unwrap_err().to_string()
    };
    for (message, expected) in [
        (made(4, vec![0, 1], &[1]), "2 atoms have 3 radii"),
        (made(3, vec![0, 1, 3], &[1]), "needs atom 3 of 3"),
        (made(4, vec![0, 1, 3], &[3]), "is not what is measured"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}
