use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped, right_of_origin, those_right_of_origin};
use crate::reduce::Tally;
use crate::unit_cell::UnitCell;

const N_ATOMS: usize = 9;
const MASSES: [f64; N_ATOMS] = [12.011, 1.008, 1.008, 15.999, 1.008, 14.007, 32.06, 12.011, 1.008];
const CHARGES: [f64; N_ATOMS] = [-0.1, 0.2, -0.834, 0.417, 0.417, 0.5, -0.5, 0.0, 1.0];
const LABELS: [u32; N_ATOMS] = [0, 0, 2, 1, 1, 2, 3, 3, 3];

fn edges(n: usize, high: f64) -> Vec<f64> {
    (0..=n).map(|k| k as f64 * high / n as f64).collect()
}

fn made(labels: Option<&[u32]>, (n, high): (usize, f64), level: Level) -> LinearDensity {
    let bins = Bins::new(&edges(n, high)).unwrap();
    LinearDensity::new(&MASSES, &CHARGES, labels, bins, [0.5, 1.0, 0.25]).unwrap().at_level(level)
}

fn cells() -> impl Strategy<Value = UnitCell> {
    prop_oneof![
        prop::array::uniform3(8f32..20.0).prop_map(|[a, b, c]| UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0])),
        (10f32..20.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0])),
        (10f32..20.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53])),
    ]
}

fn frames() -> impl Strategy<Value = Vec<Vec<[f32; 3]>>> {
    prop::collection::vec(prop::collection::vec(prop::array::uniform3(-40f32..40.0), N_ATOMS), 2..6)
}

/// Returns the expected sums over all frames, in float64.
fn slow(frames: &[Vec<[f32; 3]>], cell: &UnitCell, labels: Option<&[u32]>, (n, high): (usize, f64)) -> Vec<f64> {
    let alone: Vec<u32> = (0..N_ATOMS as u32).collect();
    let labels = labels.unwrap_or(&alone);
    let vectors = Periodic::new(Some(cell)).unwrap().unwrap().vectors();
    let (edges, mut sums) = (edges(n, high), vec![0.0; 3 * n * 4]);
    for frame in frames {
        let mut amounts = vec![[0.0; 2]; 3 * n];
        for compound in 0..=*labels.iter().max().unwrap() {
            let atoms = || (0..N_ATOMS).filter(|&atom| labels[atom] == compound);
            let mass: f64 = atoms().map(|atom| MASSES[atom]).sum();
            let charge: f64 = atoms().map(|atom| CHARGES[atom]).sum();
            let mut at: [f64; 3] = std::array::from_fn(|axis| {
                atoms().map(|atom| MASSES[atom] * f64::from(frame[atom][axis])).sum::<f64>() / mass
            });
            for axis in [2, 1, 0] {
                while at[axis] < 0.0 {
                    at = std::array::from_fn(|k| at[k] + vectors[axis][k]);
                }
                while at[axis] >= vectors[axis][axis] {
                    at = std::array::from_fn(|k| at[k] - vectors[axis][k]);
                }
            }
            for (axis, at) in at.into_iter().enumerate() {
                if let Some(bin) = (0..n).find(|&bin| edges[bin] <= at && at < edges[bin + 1]) {
                    amounts[axis * n + bin][0] += mass;
                    amounts[axis * n + bin][1] += charge;
                }
            }
        }
        for (slab, amounts) in amounts.iter().enumerate() {
            let factor = [0.5, 1.0, 0.25][slab / n];
            for (k, amount) in amounts.iter().enumerate() {
                sums[4 * slab + 2 * k] += amount * factor;
                sums[4 * slab + 2 * k + 1] += (amount * factor).powi(2);
            }
        }
    }
    sums
}

fn values(tally: &Tally) -> Vec<f64> {
    tally.sums.iter().map(|sum| sum.value()).collect()
}

proptest! {
    #[test]
    fn densities_are_those_of_all_slabs_looked_at(
        frames in frames(), cell in cells(), is_grouped in any::<bool>(), n in 1usize..30, cut in 1usize..5,
    ) {
        let (labels, slabs) = (is_grouped.then_some(&LABELS[..]), (n, 14.5));
        let found = mapped(made(labels, slabs, Level::detect()), &[batch(3, &frames, Some(cell))]).unwrap();
        let expected = slow(&frames, &cell, labels, slabs);
        for (found, expected) in values(&found).iter().zip(&expected) {
            prop_assert!((found - expected).abs() < 1e-6, "{} and {}", found, expected);
        }
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let parts = [batch(3, left, Some(cell)), batch(3 + left.len() as u64, right, Some(cell))];
        for level in Level::available() {
            prop_assert_eq!(&mapped(made(labels, slabs, level), &parts).unwrap(), &found);
        }
    }

    #[test]
    fn all_mass_and_charge_is_in_slabs_as_high_as_the_cell(frames in frames(), cell in cells(), is_grouped in any::<bool>()) {
        let labels = is_grouped.then_some(&LABELS[..]);
        let found = values(&mapped(made(labels, (7, 20.5), Level::detect()), &[batch(0, &frames, Some(cell))]).unwrap());
        for (slabs, factor) in found.chunks(4 * 7).zip([0.5, 1.0, 0.25]) {
            for (k, amounts) in [(0, MASSES), (2, CHARGES)] {
                let (sum, total) = (slabs.iter().skip(k).step_by(4).sum::<f64>(), amounts.iter().sum::<f64>());
                prop_assert!((sum - factor * total * frames.len() as f64).abs() < 1e-9, "{} of {}", sum, total);
            }
        }
    }
}

proptest! {
    #[test]
    fn density_of_a_group_that_changes_is_that_of_the_atoms_of_each_frame(
        frames in frames(), cell in cells(), is_grouped in any::<bool>(), cut in 1usize..5,
    ) {
        let of = |atoms: &[u32], frame: &[[f32; 3]]| {
            let each = |values: &[f64]| -> Vec<f64> { atoms.iter().map(|&atom| values[atom as usize]).collect() };
            let mut used: Vec<u32> = atoms.iter().map(|&atom| LABELS[atom as usize]).collect();
            let given = used.clone();
            used.sort_unstable();
            used.dedup();
            let labels: Vec<u32> =
                given.iter().map(|label| used.iter().position(|one| one == label).unwrap() as u32).collect();
            let (masses, charges) = (each(&MASSES), each(&CHARGES));
            let (bins, labels) = (Bins::new(&edges(7, 20.5)).unwrap(), is_grouped.then_some(&labels[..]));
            let density = LinearDensity::new(&masses, &charges, labels, bins, [1.0; 3]).unwrap();
            let points: Vec<[f32; 3]> = atoms.iter().map(|&atom| frame[atom as usize]).collect();
            values(&mapped(density, &[batch(0, &[points], Some(cell))]).unwrap())
        };
        let possible = [0, 1, 2, 3, 5, 6, 7];
        let mut expected = vec![0.0; 3 * 7 * 4];
        for frame in &frames {
            let atoms = those_right_of_origin(frame, &possible);
            if !atoms.is_empty() {
                expected.iter_mut().zip(of(&atoms, frame)).for_each(|(sum, value)| *sum += value);
            }
        }
        let each = |values: &[f64]| -> Vec<f64> { possible.iter().map(|&atom| values[atom as usize]).collect() };
        let (masses, charges) = (each(&MASSES), each(&CHARGES));
        let labels = possible.map(|atom| LABELS[atom as usize]);
        let computation = || {
            let (group, bins) = (right_of_origin(N_ATOMS as u32, &possible), Bins::new(&edges(7, 20.5)).unwrap());
            let labels = is_grouped.then_some(&labels[..]);
            LinearDensity::changing(N_ATOMS, group, [&masses, &charges], labels, bins, [1.0; 3]).unwrap()
        };
        let found = mapped(computation(), &[batch(0, &frames, Some(cell))]).unwrap();
        for (found, expected) in values(&found).iter().zip(&expected) {
            prop_assert!((found - expected).abs() < 1e-6, "{} and {}", found, expected);
        }
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let parts = [batch(0, left, Some(cell)), batch(left.len() as u64, right, Some(cell))];
        prop_assert_eq!(&mapped(computation(), &parts).unwrap(), &found);
    }
}

#[test]
fn selected_atoms_without_mass_have_no_centre() {
    let cell = Some(UnitCell::Dimensions([20.0, 20.0, 20.0, 90.0, 90.0, 90.0]));
    let (group, bins) = (right_of_origin(2, &[0, 1]), || Bins::new(&[0.0, 20.0]).unwrap());
    let amounts: [&[f64]; 2] = [&[0.0, 1.0], &[1.0, 1.0]];
    let density = || LinearDensity::changing(2, group.clone(), amounts, Some(&[0, 0]), bins(), [1.0; 3]).unwrap();
    assert!(mapped(density(), &[batch(4, &[vec![[1.0; 3], [1.0; 3]]], cell)]).is_ok());
    let message = mapped(density(), &[batch(4, &[vec![[1.0; 3], [-1.0; 3]]], cell)]).unwrap_err().to_string();
    assert!(message.contains("frame 4: the selected atoms of compound 0 have no mass"), "{message}");
    for (n_atoms, amounts, expected) in
        [(1, amounts, "needs atom 1 of 1"), (2, [&[1.0][..]; 2], "2 atoms has 1 masses")]
    {
        let wrong = LinearDensity::changing(n_atoms, group.clone(), amounts, None, bins(), [1.0; 3]);
        let message = wrong.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_has_no_density_is_refused() {
    let made = |masses: &[f64], charges: &[f64], labels: Option<&[u32]>, per_volume| {
        let bins = Bins::new(&[0.0, 1.0]).unwrap();
        LinearDensity::new(masses, charges, labels, bins, per_volume).map(|_| ()).unwrap_err().to_string()
    };
    for (message, expected) in [
        (made(&[], &[], None, [1.0; 3]), "0 atoms"),
        (made(&[1.0], &[], None, [1.0; 3]), "1 atoms have 0 charges"),
        (made(&[1.0], &[1.0], Some(&[]), [1.0; 3]), "or other labels"),
        (made(&[1.0, 2.0], &[1.0, f64::NAN], None, [1.0; 3]), "atom 1 has the mass 2 and the charge NaN"),
        (made(&[1.0], &[1.0], Some(&[1]), [1.0; 3]), "1 atoms are no 2 compounds"),
        (made(&[1.0, 0.0], &[1.0, 1.0], Some(&[0, 1]), [1.0; 3]), "compound 1 has no mass"),
        (made(&[1.0], &[1.0], None, [1.0, 0.0, 1.0]), "no volume"),
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn frame_that_has_no_density_is_named() {
    let cell = Some(UnitCell::Dimensions([20.0, 20.0, 20.0, 90.0, 90.0, 90.0]));
    let mut frame = vec![[1.0; 3]; N_ATOMS];
    let refused = |density: LinearDensity, frame: &[[f32; 3]], cell| {
        mapped(density, &[batch(4, &[frame.to_vec()], cell)]).unwrap_err().to_string()
    };
    let usual = || made(None, (4, 20.0), Level::detect());
    let message = refused(usual(), &frame, None);
    assert!(message.contains("frame 4: no periodic cell"), "{message}");
    let dense = LinearDensity { per_volume: [1e6; 3], ..usual() };
    let message = refused(dense, &frame, cell);
    assert!(message.contains("frame 4: a density is"), "{message}");
    frame[5][1] = f32::INFINITY;
    let message = refused(usual(), &frame, cell);
    assert!(message.contains("frame 4: atom 5 of the 9 selected"), "{message}");
}
