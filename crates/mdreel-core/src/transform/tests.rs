use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::frame::{FrameHeader, Quantities, Quantity};
use crate::unit_cell::UnitCell;

type Frame = Vec<[f32; 3]>;

fn batch(frames: &[Frame], cells: &[Option<UnitCell>]) -> FrameBatch {
    let mut batch = FrameBatch::with_capacity(frames[0].len(), frames.len());
    for ((index, frame), unit_cell) in (0..).zip(frames).zip(cells) {
        let present = Quantities::POSITIONS;
        let mut columns =
            batch.push(FrameHeader { index, step: 0, time: 0.0, unit_cell: *unit_cell, lambda: None, present });
        for (place, point) in frame.iter().enumerate() {
            set_position(&mut columns, place, point.map(f64::from));
        }
    }
    batch
}

fn frames_of(batch: &FrameBatch) -> Vec<Vec<[f64; 3]>> {
    (0..batch.len())
        .map(|i| {
            let columns = batch.columns(i);
            (0..batch.n_atoms()).map(|k| [columns.x[k], columns.y[k], columns.z[k]].map(f64::from)).collect()
        })
        .collect()
}

/// Transforms frames that contain all atoms.
fn moved(transform: &dyn Transform, frames: &[Frame], cells: &[Option<UnitCell>]) -> Result<Vec<Vec<[f64; 3]>>> {
    let atoms: Vec<u32> = (0..frames[0].len() as u32).collect();
    let mut batch = batch(frames, cells);
    transform.mover(&atoms).apply(&mut batch)?;
    Ok(frames_of(&batch))
}

fn cells() -> impl Strategy<Value = UnitCell> {
    prop_oneof![
        prop::array::uniform3(20f32..50.0).prop_map(|[a, b, c]| UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0])),
        (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0])),
        prop::array::uniform3(70f32..110.0).prop_map(|[x, y, z]| UnitCell::Dimensions([30.0, 33.0, 37.0, x, y, z])),
    ]
}

/// Generates a chain of atoms a few Å apart, and images of the cell by which each atom is moved.
fn chain() -> impl Strategy<Value = Vec<([f32; 3], [i32; 3])>> {
    prop::collection::vec((prop::array::uniform3(-2f32..2.0), prop::array::uniform3(-2i32..3)), 1..20)
}

fn split_chain(steps: &[([f32; 3], [i32; 3])], cell: &UnitCell) -> (Vec<[f64; 3]>, Frame) {
    let periodic = Periodic::new(Some(cell)).unwrap().unwrap();
    let mut at = [5.0; 3];
    let mut whole = Vec::new();
    let mut split = Vec::new();
    for (k, (step, images)) in steps.iter().enumerate() {
        at = sum(at, step.map(f64::from));
        let images = if k == 0 { [0; 3] } else { *images };
        whole.push(at);
        split.push(sum(at, periodic.vector(images.map(f64::from))).map(|value| value as f32));
    }
    (whole, split)
}

fn one_compound(n_atoms: usize, weights: Option<Vec<f64>>) -> Compounds {
    Compounds::new((0..n_atoms as u32).collect(), vec![n_atoms], weights).unwrap()
}

fn near(found: &[[f64; 3]], expected: &[[f64; 3]]) -> bool {
    found.iter().flatten().zip(expected.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-4)
}

/// Rotates a frame about z and shifts it.
fn turned(frame: &Frame, degrees: f32, shift: [f32; 3]) -> Frame {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let turn = |[x, y, z]: [f32; 3]| [cosine * x - sine * y + shift[0], sine * x + cosine * y + shift[1], z + shift[2]];
    frame.iter().map(|point| turn(*point)).collect()
}

proptest! {
    #[test]
    fn frame_that_was_moved_lies_on_the_reference_again(
        frame in prop::collection::vec(prop::array::uniform3(-20f32..20.0), 8..30),
        degrees in -180f32..180.0,
        shift in prop::array::uniform3(-30f32..30.0),
    ) {
        let fitted: Vec<u32> = (0..frame.len() as u32).step_by(2).collect();
        let reference: Vec<[f64; 3]> = fitted.iter().map(|&atom| frame[atom as usize].map(f64::from)).collect();
        let superposed = Superposed::new(fitted, &reference, None).unwrap();
        let found = moved(&superposed, &[turned(&frame, degrees, shift)], &[None]).unwrap();
        let expected: Vec<[f64; 3]> = frame.iter().map(|point| point.map(f64::from)).collect();
        // A few atoms may lie nearly on a line. The rotation about this line is then not well determined.
        let apart = found[0].iter().zip(&expected).step_by(2).flat_map(|(a, b)| (0..3).map(move |k| (a[k] - b[k]).abs()));
        prop_assert!(apart.fold(0.0, f64::max) < 1e-3);
    }
}

#[test]
fn velocities_turn_with_the_atoms_and_what_is_not_finite_is_named() {
    let frame: Frame = vec![[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]];
    let reference: Vec<[f64; 3]> = frame.iter().map(|point| point.map(f64::from)).collect();
    let superposed = Superposed::new(vec![0, 1, 2, 3], &reference, None).unwrap();
    let mut batch = FrameBatch::for_quantities(4, Quantities::ALL);
    let present = Quantities::POSITIONS.with(Quantity::Velocities, true);
    let mut columns = batch.push(FrameHeader { index: 7, step: 0, time: 0.0, unit_cell: None, lambda: None, present });
    for (place, point) in turned(&frame, 90.0, [5.0; 3]).into_iter().enumerate() {
        set_position(&mut columns, place, point.map(f64::from));
    }
    let mut velocities = batch.columns_of_mut(0, Quantity::Velocities).unwrap();
    (0..4).for_each(|place| set_position(&mut velocities, place, [0.0, 1.0, 2.0]));
    superposed.mover(&[0, 1, 2, 3]).apply(&mut batch).unwrap();
    let velocities = batch.columns_of(0, Quantity::Velocities).unwrap();
    let first = [velocities.x[0], velocities.y[0], velocities.z[0]];
    assert!(first.iter().zip([1.0, 0.0, 2.0]).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-5), "{first:?}");

    batch.columns_mut(0).x[2] = f32::NAN;
    let message = superposed.mover(&[0, 1, 2, 3]).apply(&mut batch).unwrap_err().to_string();
    assert!(message.contains("frame 7"), "{message}");
    assert!(Superposed::new(vec![0], &reference, None).is_err());
}

proptest! {
    #[test]
    fn chain_that_was_split_is_whole_again(steps in chain(), cell in cells()) {
        let (expected, split) = split_chain(&steps, &cell);
        let parents: Vec<usize> = (0..split.len()).map(|atom: usize| atom.saturating_sub(1)).collect();
        let whole = Whole::new(one_compound(split.len(), None), parents, false).unwrap();
        let found = moved(&whole, &[split], &[Some(cell)]).unwrap();
        prop_assert!(near(&found[0], &expected), "{:?} {:?}", found[0], expected);
    }

    #[test]
    fn center_of_what_is_wrapped_is_in_the_cell_and_its_shape_stays(
        points in prop::collection::vec((prop::array::uniform3(-200f32..200.0), 0.5f64..20.0), 1..9),
        cell in cells(),
    ) {
        let (frame, weights): (Frame, Vec<f64>) = points.into_iter().unzip();
        let periodic = Periodic::new(Some(&cell)).unwrap().unwrap();
        let wrap = Wrap::new(one_compound(frame.len(), Some(weights.clone())));
        let found = &moved(&wrap, std::slice::from_ref(&frame), &[Some(cell)]).unwrap()[0];
        let total: f64 = weights.iter().sum();
        let center: [f64; 3] =
            std::array::from_fn(|k| found.iter().zip(&weights).map(|(at, weight)| at[k] * weight).sum::<f64>() / total);
        prop_assert!(periodic.fractions(center).iter().all(|fraction| (-1e-5..1.00001).contains(fraction)));
        let shift = difference(found[0], frame[0].map(f64::from));
        for image in periodic.fractions(shift) {
            prop_assert!((image - image.round()).abs() < 1e-5);
        }
        for (at, before) in found.iter().zip(&frame) {
            let own = difference(difference(*at, before.map(f64::from)), shift);
            prop_assert!(own.iter().all(|value| value.abs() < 1e-4));
        }
    }

    #[test]
    fn path_that_was_wrapped_is_found_again(
        steps in prop::collection::vec(prop::array::uniform3(-4f32..4.0), 1..40),
        cell in cells(),
        images in prop::collection::vec(prop::array::uniform3(-1i32..2), 40),
    ) {
        let periodic = Periodic::new(Some(&cell)).unwrap().unwrap();
        let (mut at, mut expected, mut frames) = ([1.0; 3], Vec::new(), Vec::new());
        for (k, step) in steps.iter().enumerate() {
            at = sum(at, step.map(f64::from));
            let image = if k == 0 { [0; 3] } else { images[k] };
            expected.push(at);
            frames.push(vec![sum(at, periodic.vector(image.map(f64::from))).map(|value| value as f32)]);
        }
        for scheme in [Scheme::Lattice, Scheme::Toroidal] {
            let found = moved(&NoJump(scheme), &frames, &vec![Some(cell); frames.len()]).unwrap();
            let found: Vec<[f64; 3]> = found.into_iter().map(|frame| frame[0]).collect();
            prop_assert!(near(&found, &expected), "{:?}: {:?} {:?}", scheme, found, expected);
        }
    }
}

#[test]
fn schemes_differ_where_the_cell_changes() {
    let cube = |a: f32| Some(UnitCell::Dimensions([a, a, a, 90.0, 90.0, 90.0]));
    // The atom leaves the cell on the right. Then the cell grows, while the atom in it does not move.
    let frames = [vec![[9.0, 5.0, 5.0]], vec![[1.0, 5.0, 5.0]], vec![[1.0, 5.0, 5.0]]];
    let cells = [cube(10.0), cube(10.0), cube(12.0)];
    let x = |scheme| moved(&NoJump(scheme), &frames, &cells).unwrap().map_last();
    assert_eq!(x(Scheme::Lattice), 13.0);
    assert_eq!(x(Scheme::Toroidal), 11.0);
}

trait Last {
    fn map_last(self) -> f64;
}

impl Last for Vec<Vec<[f64; 3]>> {
    fn map_last(self) -> f64 {
        self[self.len() - 1][0][0]
    }
}

#[test]
fn center_goes_to_the_middle_or_a_point() {
    let cell = Some(UnitCell::Dimensions([10.0, 20.0, 30.0, 90.0, 90.0, 90.0]));
    let frame = vec![[1.0, 2.0, 3.0], [3.0, 2.0, 3.0], [15.0, 2.0, 3.0]];
    let group = || Compounds::new(vec![0, 2], vec![2], None).unwrap();
    let to = |target, is_wrapped, cell| {
        let center = Center::new(group(), target, is_wrapped).unwrap();
        moved(&center, std::slice::from_ref(&frame), &[cell])
    };
    assert_eq!(to(Target::Cell, false, cell).unwrap()[0][1], [0.0, 10.0, 15.0]);
    assert_eq!(to(Target::Cell, true, cell).unwrap()[0][1], [5.0, 10.0, 15.0]);
    assert_eq!(to(Target::Point([0.0; 3]), false, None).unwrap()[0][1], [-5.0, 0.0, 0.0]);
    let message = to(Target::Cell, false, None).unwrap_err().to_string();
    assert!(message.contains("frame 0: no periodic cell"), "{message}");
}

#[test]
fn frames_out_of_order_are_refused() {
    let cell = Some(UnitCell::Dimensions([10.0, 20.0, 30.0, 90.0, 90.0, 90.0]));
    let mut mover = NoJump(Scheme::Lattice).mover(&[0]);
    let mut frames = batch(&[vec![[0.0; 3]]], &[cell]);
    mover.apply(&mut frames).unwrap();
    let message = mover.apply(&mut frames).unwrap_err().to_string();
    assert!(message.contains("frame 0: it comes behind frame 0"), "{message}");
}

#[test]
fn what_a_transformation_needs_is_read_besides() {
    let compounds = Compounds::new(vec![3, 1, 5, 4, 0], vec![3, 5], None).unwrap();
    let wrap: Arc<dyn Transform> = Arc::new(Wrap::new(compounds));
    let mut atoms = vec![1, 2];
    wrap.add_needed(&mut atoms);
    atoms.sort_unstable();
    atoms.dedup();
    assert_eq!(atoms, [1, 2, 3, 5]);
}

#[test]
fn compounds_that_are_none_are_refused() {
    for (atoms, ends, weights, expected) in [
        (vec![], vec![], None, "must have atoms"),
        (vec![0, 1], vec![1], None, "end with the last"),
        (vec![0, 1], vec![2, 2], None, "compound 1 has no atoms"),
        (vec![0, 0], vec![2], None, "atom 0 is in more than one"),
        (vec![0, 1], vec![2], Some(vec![1.0]), "a weight for each"),
        (vec![0, 1], vec![2], Some(vec![0.0, 0.0]), "give no centre"),
    ] {
        let message = Compounds::new(atoms, ends, weights).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let message = Whole::new(one_compound(3, None), vec![0, 2, 1], false).unwrap_err().to_string();
    assert!(message.contains("the parent of atom 1 does not come before it"), "{message}");
}
