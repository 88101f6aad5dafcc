use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::batch;
use crate::periodic::Periodic;
use crate::unit_cell::UnitCell;

const N_ATOMS: u32 = 40;
type Frame = Vec<[f32; 3]>;

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let point = prop::array::uniform3(-40i32..40).prop_map(|point| point.map(|x| x as f32 / 2.0));
    prop::collection::vec(prop::collection::vec(point, N_ATOMS as usize), 1..4)
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        Just(Some(UnitCell::Dimensions([18.0, 20.0, 22.0, 90.0, 90.0, 90.0]))),
        Just(Some(UnitCell::Dimensions([20.0, 20.0, 20.0, 70.0, 95.0, 80.0]))),
    ]
}

fn fixed(atoms: impl IntoIterator<Item = u32>) -> Expression {
    Expression::Fixed(atoms.into_iter().collect())
}

fn within(outer: f64) -> Distance {
    Distance { inner: None, outer, is_periodic: true }
}

/// Evaluates a selection in each frame, reading only the atoms that the selection declares as needed.
fn selected(expression: Expression, frames: &[Frame], cell: Option<UnitCell>) -> Vec<Vec<u32>> {
    let selection = Selection::new(N_ATOMS as usize, expression).unwrap();
    let (needed, possible) = (selection.needed(), selection.possible());
    let read: Vec<u32> = if needed.is_empty() { vec![0] } else { needed };
    let chosen: Vec<Frame> =
        frames.iter().map(|frame| read.iter().map(|&atom| frame[atom as usize]).collect()).collect();
    let mut selecting = Selecting::new(Arc::new(selection), &read).unwrap();
    let batch = batch(0, &chosen, cell);
    let found: Vec<Vec<u32>> = (0..frames.len()).map(|i| selecting.find(&batch, i).unwrap().to_vec()).collect();
    assert!(found.iter().flatten().all(|atom| possible.contains(atom)), "an atom was not said to be possible");
    found
}

/// Returns the atoms for which a condition holds in a frame.
fn those(holds: impl Fn(u32) -> bool) -> Vec<u32> {
    (0..N_ATOMS).filter(|&atom| holds(atom)).collect()
}

proptest! {
    #[test]
    fn neighbours_are_those_of_all_pairs(frames in frames(), cell in cells(), outer in 0.5f64..14.0, share in 1u32..39) {
        let images = Periodic::new(cell.as_ref()).unwrap();
        let near = |frame: &Frame, atom: u32, other: u32| {
            let d = std::array::from_fn(|k| f64::from(frame[atom as usize][k]) - f64::from(frame[other as usize][k]));
            let [x, y, z] = images.as_ref().map_or(d, |cell| cell.shortest(d));
            (x * x + y * y + z * z).sqrt() <= outer
        };
        let around = || Expression::Around { distance: within(outer), of: Box::new(fixed(0..share)) };
        let expected: Vec<Vec<u32>> = frames
            .iter()
            .map(|frame| those(|atom| atom >= share && (0..share).any(|other| near(frame, atom, other))))
            .collect();
        prop_assert_eq!(&selected(around(), &frames, cell), &expected);
        let even = || fixed((0..N_ATOMS).filter(|atom| atom % 2 == 0));
        let both: Vec<Vec<u32>> =
            expected.iter().map(|atoms| atoms.iter().copied().filter(|atom| atom % 2 == 0).collect()).collect();
        prop_assert_eq!(&selected(Expression::And(vec![around(), even()]), &frames, cell), &both);
        let others: Vec<Vec<u32>> = both.iter().map(|atoms| those(|atom| !atoms.contains(&atom))).collect();
        let and = Expression::And(vec![even(), around()]);
        prop_assert_eq!(&selected(Expression::Not(Box::new(and)), &frames, cell), &others);
        let labels: Vec<u32> = (0..N_ATOMS).map(|atom| atom / 3).collect();
        let alike: Vec<Vec<u32>> =
            expected.iter().map(|atoms| those(|atom| atoms.iter().any(|other| other / 3 == atom / 3))).collect();
        prop_assert_eq!(&selected(Expression::Same { labels, of: Box::new(around()) }, &frames, cell), &alike);
    }
}

#[test]
fn only_atoms_that_matter_are_needed() {
    let around = Expression::Around { distance: within(3.0), of: Box::new(fixed([0, 1])) };
    let labels: Vec<u32> = (0..N_ATOMS).map(|atom| atom / 10).collect();
    let and = Expression::And(vec![around, fixed([10, 20])]);
    let selection = Selection::new(40, Expression::Same { labels, of: Box::new(and) }).unwrap();
    assert_eq!(selection.needed(), [0, 1, 10, 20]);
    assert_eq!(selection.possible(), (10..30).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_selected_is_refused() {
    let nowhere = Distance { inner: None, outer: f64::NAN, is_periodic: true };
    let boxed = |atoms: &[u32]| Box::new(fixed(atoms.iter().copied()));
    for (expression, expected) in [
        (fixed([40]), "atom 40: there are 40"),
        (Expression::Around { distance: nowhere, of: boxed(&[0]) }, "limit NaN"),
        (Expression::Same { labels: vec![0], of: boxed(&[0]) }, "1 labels for 40 atoms"),
        (Expression::Bonded { bonds: vec![[0, 41]], of: boxed(&[0]) }, "a bond has atom 41"),
        (Expression::SameCoordinate { axis: 3, of: boxed(&[0]) }, "axis 3"),
    ] {
        let message = Selection::new(40, expression).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
