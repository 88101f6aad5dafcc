use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::unit_cell::UnitCell;

const CRITERIA: Criteria = Criteria { distance: 6.0, angle: 110.0 };

/// Returns the expected bonds, from a loop over every donor and acceptor of every frame.
fn expected(
    frames: &[Vec<[f32; 3]>],
    cell: Option<&UnitCell>,
    donors: &[[u32; 2]],
    acceptors: &[u32],
    masks: Option<&Masks>,
) -> Vec<[f64; 6]> {
    let images = Periodic::new(cell).unwrap();
    let mut bonds = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        for (i, &[donor, hydrogen]) in donors.iter().enumerate() {
            for (j, &acceptor) in acceptors.iter().enumerate() {
                let vector = |from: u32, to: u32| {
                    let d =
                        std::array::from_fn(|k| f64::from(frame[to as usize][k]) - f64::from(frame[from as usize][k]));
                    images.map_or(d, |cell| cell.shortest(d))
                };
                let length = |[x, y, z]: [f64; 3]| (x * x + y * y + z * z).sqrt();
                let distance = length(vector(donor, acceptor));
                let (u, v) = (vector(hydrogen, donor), vector(hydrogen, acceptor));
                let cosine = (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]) / (length(u) * length(v));
                let angle = cosine.clamp(-1.0, 1.0).acos().to_degrees();
                let may = masks.is_none_or(|masks| masks[0][i] & masks[1][j] != 0);
                if may && distance > LEAST && distance <= CRITERIA.distance && angle > CRITERIA.angle {
                    bonds.push([number as f64, donor.into(), hydrogen.into(), acceptor.into(), distance, angle]);
                }
            }
        }
    }
    bonds
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        prop::array::uniform3(13f32..30.0)
            .prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (20f32..40.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
    ]
}

proptest! {
    #[test]
    fn bonds_are_those_of_all_donors_and_acceptors(
        frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-9.37f32..9.41), 24), 1..5),
        cell in cells(), masked in any::<bool>(), cut in 0usize..4,
    ) {
        let donors: Vec<[u32; 2]> = (0..6).flat_map(|donor| [[donor, 6 + 2 * donor], [donor, 7 + 2 * donor]]).collect();
        let acceptors: Vec<u32> = (0..6).chain(18..24).collect();
        let masks = masked.then(|| [(0..12).map(|i| 1 << (i % 3)).collect(), (0..12).map(|j| 5 >> (j % 2)).collect()]);
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let mut batches = vec![batch(left.len() as u64, right, cell)];
        if !left.is_empty() {
            batches.insert(0, batch(0, left, cell));
        }
        let expected = expected(&frames, cell.as_ref(), &donors, &acceptors, masks.as_ref());
        let mut bits = None;
        for level in Level::available() {
            let [from, hydrogens]: [Vec<u32>; 2] = [0, 1].map(|k| donors.iter().map(|donor| donor[k]).collect());
            let bonds = HydrogenBonds::new(24, from, hydrogens, acceptors.clone(), masks.clone(), CRITERIA).unwrap();
            let mut tally = mapped(bonds.at_level(level), &batches).unwrap();
            let found = tally.records.remove(0);
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(bits.get_or_insert_with(|| found.clone()), &found, "{}", level.name());
            for (found, expected) in found.into_values().chunks_exact(6).zip(&expected) {
                prop_assert_eq!(&found[..5], &expected[..5]);
                prop_assert!((found[5] - expected[5]).abs() < 1e-4, "{} and {}", found[5], expected[5]);
            }
        }
    }
}

#[test]
fn what_cannot_bond_is_refused_or_named() {
    let new = |donors: Vec<u32>, hydrogens, acceptors: Vec<u32>, masks, criteria| {
        HydrogenBonds::new(3, donors, hydrogens, acceptors, masks, criteria)
    };
    let mask: Option<Masks> = Some([vec![], vec![1]]);
    for (result, expected) in [
        (new(vec![], vec![], vec![2], None, CRITERIA), "no atoms"),
        (new(vec![0], vec![3], vec![2], None, CRITERIA), "atom 3 of 3"),
        (new(vec![0], vec![1], vec![3], None, CRITERIA), "atom 3 of 3"),
        (new(vec![0], vec![], vec![2], None, CRITERIA), "0 hydrogens for 1 donors"),
        (new(vec![0], vec![1], vec![2], mask, CRITERIA), "masks"),
        (new(vec![0], vec![1], vec![2], None, Criteria { distance: 0.0, ..CRITERIA }), "expected a distance"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    for wrong in 0..3 {
        let mut points = vec![[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        points[wrong][2] = f32::NAN;
        let bonds = new(vec![0], vec![1], vec![2], None, CRITERIA).unwrap();
        let message = mapped(bonds, &[batch(8, &[points], None)]).unwrap_err().to_string();
        assert!(message.contains(&format!("frame 8: atom {wrong} of the 3")), "{message}");
    }
}
