use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped, right_of_origin, those_right_of_origin};
use crate::unit_cell::UnitCell;

type Frame = Vec<[f32; 3]>;

fn distance(cell: Option<&UnitCell>, frame: &[[f32; 3]], [from, to]: [u32; 2]) -> f64 {
    let (from, to) = (frame[from as usize], frame[to as usize]);
    let d = std::array::from_fn(|k| f64::from(to[k]) - f64::from(from[k]));
    let [x, y, z] = Periodic::new(cell).unwrap().map_or(d, |images| images.shortest(d));
    (x * x + y * y + z * z).sqrt()
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    prop_oneof![
        Just(None),
        prop::array::uniform3(15f32..40.0)
            .prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (20f32..50.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
    ]
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let point = prop::array::uniform3(-40i32..40).prop_map(|p| p.map(|x| x as f32 / 2.0));
    prop::collection::vec(prop::collection::vec(point, 24), 2..6)
}

fn measures() -> impl Strategy<Value = Measure> {
    prop_oneof![
        Just(Measure::Hard),
        (2f64..9.0).prop_map(Measure::Radius),
        (1f64..6.0, 1f64..2.0).prop_map(|(beta, lambda)| Measure::Soft { beta, lambda }),
    ]
}

proptest! {
    #[test]
    fn share_is_that_of_the_formula(
        frames in frames(), cell in cells(), measure in measures(), radius in 6f64..16.0, cut in 1usize..5,
    ) {
        let points: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
        let (first, second) = (&points[..10], &points[10..]);
        let mut contacts = contacts_of([first, second], Periodic::new(cell.as_ref()).unwrap(), radius).unwrap();
        contacts.iter_mut().for_each(|contact| contact.atoms[1] += 10);
        let pairs = (0..10).flat_map(|from| (10..24).map(move |to| [from, to]));
        let expected: Vec<[u32; 2]> =
            pairs.filter(|&atoms| distance(cell.as_ref(), &frames[0], atoms) <= radius).collect();
        prop_assert_eq!(contacts.iter().map(|contact| contact.atoms).collect::<Vec<_>>(), expected);
        prop_assume!(!contacts.is_empty());
        let computation = || NativeContacts::new(24, vec![contacts.clone()], measure, Shortest::WherePossible).unwrap();
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let batches = [batch(0, left, cell), batch(left.len() as u64, right, cell)];
        let found = mapped(computation(), &batches).unwrap();
        prop_assert_eq!(&mapped(computation(), &[batch(0, &frames, cell)]).unwrap(), &found);
        if measure == Measure::Hard {
            prop_assert_eq!(found.rows.column(0).next(), Some(1.0));
        }
        for (frame, share) in frames.iter().zip(found.rows.column(0)) {
            let shares = contacts.iter().map(|contact| {
                let (r, r0) = (distance(cell.as_ref(), frame, contact.atoms), contact.reference);
                match measure {
                    Measure::Hard => f64::from(u8::from(r <= r0)),
                    Measure::Radius(radius) => f64::from(u8::from(r <= radius)),
                    Measure::Soft { beta, lambda } => (1.0 + (beta * (r - lambda * r0)).exp()).recip(),
                }
            });
            prop_assert!((share - shares.sum::<f64>() / contacts.len() as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn count_is_that_of_all_pairs(frames in frames(), cell in cells(), radius in 0f64..12.0, end in 12u32..24) {
        let groups: [Vec<u32>; 2] = [(0..12).collect(), (12..end).chain(0..5).chain([3]).collect()];
        let repeated = [(0..12).chain([4]).collect(), (0..12).rev().collect()];
        for groups in [groups.clone(), [groups[0].clone(), groups[0].clone()], repeated] {
            for (level, is_unique) in Level::available().into_iter().flat_map(|level| [(level, true), (level, false)]) {
                let computation = ContactCount::new(24, groups.clone(), radius, Shortest::WherePossible, is_unique);
                let found = mapped(computation.unwrap().at_level(level), &[batch(0, &frames, cell)]).unwrap();
                for (frame, count) in frames.iter().zip(found.rows.column(0)) {
                    let pairs = groups[0].iter().flat_map(|&from| groups[1].iter().map(move |&to| [from, to]));
                    let mut near: Vec<[u32; 2]> =
                        pairs.filter(|&atoms| distance(cell.as_ref(), frame, atoms) <= radius).collect();
                    if is_unique {
                        near.retain(|[from, to]| from != to);
                        near.iter_mut().for_each(|atoms| atoms.sort_unstable());
                        near.sort_unstable();
                        near.dedup();
                    }
                    prop_assert_eq!(count, near.len() as f64, "{} {}", level.name(), is_unique);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn count_of_groups_that_change_is_that_of_the_atoms_of_each_frame(
        frames in frames(), cell in cells(), radius in 0f64..12.0, both_change in any::<bool>(), is_unique in any::<bool>(),
    ) {
        let places: [Vec<u32>; 2] = [(0..15).collect(), (10..24).collect()];
        let second = if both_change { right_of_origin(24, &places[1]) } else { places[1].clone().into() };
        let groups = [right_of_origin(24, &places[0]), second];
        let count = |groups: [Group; 2], frame: &Frame| {
            let computation = ContactCount::new(24, groups, radius, Shortest::WherePossible, is_unique).unwrap();
            mapped(computation, &[batch(0, std::slice::from_ref(frame), cell)]).unwrap().rows.column(0).next().unwrap()
        };
        for frame in &frames {
            let current = [
                those_right_of_origin(frame, &places[0]),
                if both_change { those_right_of_origin(frame, &places[1]) } else { places[1].clone() },
            ];
            let is_empty = current.iter().any(Vec::is_empty);
            let expected = if is_empty { 0.0 } else { count(current.map(Group::from), frame) };
            prop_assert_eq!(count(groups.clone(), frame), expected);
        }
    }
}

#[test]
fn unique_pairs_of_a_group_that_changes_need_each_atom_once() {
    let twice = [right_of_origin(3, &[0, 1, 1]), right_of_origin(3, &[2])];
    let message = ContactCount::new(3, twice, 3.0, Shortest::Never, true).unwrap_err().to_string();
    assert!(message.contains("has an atom more than once"), "{message}");
}

#[test]
fn what_has_no_contacts_is_refused_or_named() {
    let contact = Contact { atoms: [0, 1], reference: 3.0 };
    let native = |references| NativeContacts::new(2, references, Measure::Hard, Shortest::Always).map(|_| ());
    let count = |groups, radius| ContactCount::new(2, groups, radius, Shortest::Always, true).map(|_| ());
    let of = |point, radius| contacts_of([&[[0.0; 3]], &[[point, 0.0, 0.0]]], None, radius).map(|_| ());
    for (result, expected) in [
        (native(vec![vec![contact], vec![]]), "reference 1 has no contacts"),
        (native(vec![vec![Contact { atoms: [0, 2], ..contact }]]), "atom 2 of 2"),
        (count([vec![0], vec![]], 3.0), "no atoms"),
        (count([vec![0], vec![1]], -1.0), "expected a length"),
        (of(f64::NAN, 3.0), "not finite"),
        (of(1.0, f64::INFINITY), "expected a length"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let frames = [batch(7, &[vec![[0.0; 3], [0.0, f32::INFINITY, 0.0]]], None)];
    for (shortest, expected) in [
        (Shortest::WherePossible, "frame 7: atom 1 of the 2 selected"),
        (Shortest::Always, "frame 7: no periodic cell"),
    ] {
        let native = NativeContacts::new(2, vec![vec![contact]], Measure::Hard, shortest).unwrap();
        let count = ContactCount::new(2, [vec![0], vec![1]], 3.0, shortest, true).unwrap();
        for result in [mapped(native, &frames), mapped(count, &frames)] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
