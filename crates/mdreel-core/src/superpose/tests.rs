//! Properties, comparisons with an oracle, and degenerate cases of the superposition.

use proptest::prelude::*;

use super::Reference;
use crate::frame::{FrameBatch, FrameHeader, Octets, Quantities};
use crate::simd::{Lanes, Level, Operation};

type Points = Vec<[f64; 3]>;

/// Creates a frame from points that float32 represents exactly.
fn frame(points: &[[f64; 3]]) -> FrameBatch {
    let mut batch = FrameBatch::with_capacity(points.len(), 1);
    let columns = batch.push(FrameHeader {
        index: 0,
        step: 0,
        time: 0.0,
        unit_cell: None,
        lambda: None,
        present: Quantities::POSITIONS,
    });
    for (i, point) in points.iter().enumerate() {
        (columns.x[i], columns.y[i], columns.z[i]) = (point[0] as f32, point[1] as f32, point[2] as f32);
    }
    batch
}

struct Minimum<'a>(&'a Reference, Octets<'a>);

impl Operation for Minimum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self) -> f64 {
        self.0.minimum_rmsd::<L>(self.1).expect("finite coordinates")
    }
}

fn rmsd_at(mobile: &[[f64; 3]], reference: &[[f64; 3]], weights: Option<&[f64]>, level: Level) -> f64 {
    let (reference, frame) = (Reference::new(reference, weights, level).unwrap(), frame(mobile));
    let rmsd = level.run(Minimum(&reference, frame.octets(0)));
    let superposition = reference.superpose(frame.columns(0)).unwrap();
    assert!((superposition.rmsd - rmsd).abs() < 1e-9, "{} and {rmsd}", superposition.rmsd);
    rmsd
}

fn rmsd(mobile: &[[f64; 3]], reference: &[[f64; 3]], weights: Option<&[f64]>) -> f64 {
    rmsd_at(mobile, reference, weights, Level::detect())
}

/// Computes Kabsch's bound from the singular values of the inner product matrix, by one-sided Jacobi rotations. It is
/// the oracle of the tests.
fn kabsch(mobile: &[[f64; 3]], reference: &[[f64; 3]], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let centred = |points: &[[f64; 3]]| -> Points {
        let mean: [f64; 3] =
            std::array::from_fn(|k| points.iter().zip(weights).map(|(p, w)| w * p[k]).sum::<f64>() / total);
        points.iter().map(|p| std::array::from_fn(|k| p[k] - mean[k])).collect()
    };
    let (a, b) = (centred(mobile), centred(reference));
    let mut columns = [[0.0; 3]; 3];
    let mut moments = 0.0;
    for ((a, b), weight) in a.iter().zip(&b).zip(weights) {
        for i in 0..3 {
            moments += weight * (a[i] * a[i] + b[i] * b[i]);
            (0..3).for_each(|j| columns[j][i] += weight * a[i] * b[j]);
        }
    }
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let [u, v, w] = columns;
    let cross = [v[1] * w[2] - v[2] * w[1], v[2] * w[0] - v[0] * w[2], v[0] * w[1] - v[1] * w[0]];
    let determinant = dot(u, cross);
    for _ in 0..60 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = dot(columns[p], columns[q]);
            if off == 0.0 {
                continue;
            }
            let zeta = (dot(columns[q], columns[q]) - dot(columns[p], columns[p])) / (2.0 * off);
            let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let (x, y) = (columns[p], columns[q]);
            columns[p] = std::array::from_fn(|i| cosine * (x[i] - tangent * y[i]));
            columns[q] = std::array::from_fn(|i| cosine * (tangent * x[i] + y[i]));
        }
    }
    let mut singular = columns.map(|column| dot(column, column).sqrt());
    singular.sort_by(f64::total_cmp);
    let overlap = singular[2] + singular[1] + singular[0] * determinant.signum();
    ((moments - 2.0 * overlap).max(0.0) / total).sqrt()
}

/// Rotates points by a quaternion, which need not be normalised, and shifts them.
fn rotated(points: &[[f64; 3]], quaternion: [f64; 4], shift: [f64; 3]) -> Points {
    let norm = quaternion.iter().map(|q| q * q).sum::<f64>().sqrt();
    let rotation = super::eigen::rotation_matrix(quaternion.map(|q| q / norm));
    let turn = |p: &[f64; 3]| std::array::from_fn(|k| (0..3).map(|j| rotation[k][j] * p[j]).sum::<f64>() + shift[k]);
    points.iter().map(turn).collect()
}

/// Returns the points as float32 stores them.
fn stored(points: &[[f64; 3]]) -> Points {
    points.iter().map(|point| point.map(|value| f64::from(value as f32))).collect()
}

fn points(n: std::ops::Range<usize>) -> impl Strategy<Value = Points> {
    prop::collection::vec(prop::array::uniform3(-20.0..20.0f64), n).prop_map(|points| stored(&points))
}

/// Generates two structures and weights of the same length.
fn pair(n: std::ops::Range<usize>) -> impl Strategy<Value = (Points, Points, Vec<f64>)> {
    prop::collection::vec((prop::array::uniform3(-20.0..20.0f64), prop::array::uniform3(-20.0..20.0f64), 0.1..9.0), n)
        .prop_map(|rows| {
            let column = |k: usize| rows.iter().map(|row| [row.0, row.1][k]).collect::<Points>();
            (stored(&column(0)), stored(&column(1)), rows.iter().map(|row| row.2).collect())
        })
}

fn quaternion() -> impl Strategy<Value = [f64; 4]> {
    prop::array::uniform4(-1.0..1.0f64).prop_filter("not zero", |q| q.iter().map(|v| v * v).sum::<f64>() > 1e-3)
}

proptest! {
    #[test]
    fn test_rmsd_equals_kabsch((mobile, reference, weights) in pair(1..60)) {
        prop_assert!((rmsd(&mobile, &reference, Some(&weights)) - kabsch(&mobile, &reference, &weights)).abs() < 1e-9);
        let ones = vec![1.0; mobile.len()];
        prop_assert!((rmsd(&mobile, &reference, None) - kabsch(&mobile, &reference, &ones)).abs() < 1e-9);
    }

    #[test]
    fn test_rmsd_bits_are_the_same_for_every_instruction_set(
        (mobile, reference, weights) in prop_oneof![pair(1..41), pair(300..700)],
        noise in prop_oneof![Just(1.0), Just(1e-3), Just(1e-6), Just(0.0)],
    ) {
        let near: Points = reference.iter().zip(&mobile).map(|(r, m)| {
            std::array::from_fn(|k| r[k] + noise * m[k])
        }).collect();
        for weights in [None, Some(&weights[..])] {
            let expected = rmsd_at(&near, &reference, weights, Level::available()[0]).to_bits();
            for level in Level::available() {
                prop_assert_eq!(rmsd_at(&near, &reference, weights, level).to_bits(), expected, "{}", level.name());
            }
        }
    }

    #[test]
    fn test_rmsd_is_invariant_under_rigid_motion(
        (mobile, reference, weights) in pair(1..60), quaternion in quaternion(), shift in prop::array::uniform3(-90.0..90.0),
    ) {
        // The moved structure is the reference, which stays in float64.
        let (still, moved) = (
            rmsd(&mobile, &reference, Some(&weights)),
            rmsd(&mobile, &rotated(&reference, quaternion, shift), Some(&weights)),
        );
        prop_assert!((still - moved).abs() < 1e-9, "{} and {}", still, moved);
    }

    #[test]
    fn test_rmsd_is_zero_to_a_moved_copy(
        reference in points(1..60), quaternion in quaternion(), shift in prop::array::uniform3(-90.0..90.0),
    ) {
        prop_assert!(rmsd(&reference, &rotated(&reference, quaternion, shift), None) < 1e-9);
    }

    #[test]
    fn test_rmsd_is_symmetric((mobile, reference, weights) in pair(1..60)) {
        let (there, back) = (rmsd(&mobile, &reference, Some(&weights)), rmsd(&reference, &mobile, Some(&weights)));
        prop_assert!((there - back).abs() < 1e-9);
    }

    #[test]
    fn test_rmsd_does_not_depend_on_the_order_of_atoms((mobile, reference, weights) in pair(2..60), start in 1..59usize) {
        let turned = |points: &Points| -> Points {
            (0..points.len()).map(|i| points[(start + 7 * i) % points.len()]).collect()
        };
        prop_assume!(mobile.len() % 7 != 0);
        let turned_weights: Vec<f64> = (0..weights.len()).map(|i| weights[(start + 7 * i) % weights.len()]).collect();
        let (one, other) = (
            rmsd(&mobile, &reference, Some(&weights)),
            rmsd(&turned(&mobile), &turned(&reference), Some(&turned_weights)),
        );
        prop_assert!((one - other).abs() < 1e-9);
    }

    #[test]
    fn test_rmsd_scales_with_the_coordinates((mobile, reference, _) in pair(1..60), exponent in -100..100i32) {
        let scale = f64::from(exponent).exp2();
        let scaled = |points: &Points| -> Points { points.iter().map(|p| p.map(|v| v * scale)).collect() };
        let (one, other) = (rmsd(&mobile, &reference, None), rmsd_scaled(&scaled(&mobile), &scaled(&reference)));
        prop_assert!((one - other / scale).abs() < 1e-9);
    }

    #[test]
    fn test_rmsd_with_equal_weights_has_the_bits_of_no_weights((mobile, reference, _) in pair(1..60), weight in 1..9u8) {
        let weights = vec![f64::from(weight); mobile.len()];
        prop_assert_eq!(rmsd(&mobile, &reference, Some(&weights)).to_bits(), rmsd(&mobile, &reference, None).to_bits());
    }

    #[test]
    fn test_rmsd_ignores_atoms_of_weight_zero((mobile, reference, mut weights) in pair(2..60)) {
        weights[0] = 0.0;
        let mut far = mobile.clone();
        far[0] = [3e4, -2e4, 1e4];
        let (with, without) =
            (rmsd(&far, &reference, Some(&weights)), rmsd(&mobile[1..], &reference[1..], Some(&weights[1..])));
        prop_assert!((with - without).abs() < 1e-9, "{} and {}", with, without);
    }

    #[test]
    fn test_superposition_leaves_the_distance_it_says((mobile, reference, weights) in pair(1..60)) {
        let superposition =
            Reference::new(&reference, Some(&weights), Level::detect()).unwrap().superpose(frame(&mobile).columns(0)).unwrap();
        let square: f64 = mobile.iter().zip(&reference).zip(&weights).map(|((m, r), w)| {
            let moved = superposition.apply(*m);
            w * (0..3).map(|k| (moved[k] - r[k]).powi(2)).sum::<f64>()
        }).sum();
        let left = (square / weights.iter().sum::<f64>()).sqrt();
        prop_assert!((left - superposition.rmsd).abs() < 1e-9, "{} and {}", left, superposition.rmsd);
        let r = superposition.rotation;
        let determinant = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1])
            - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0])
            + r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
        prop_assert!((determinant - 1.0).abs() < 1e-12);
    }

    #[test]
    fn test_rmsd_equals_kabsch_when_the_points_are_on_a_line_or_plane(
        (mobile, reference, weights) in pair(2..60), flat in 1..3usize, noise in prop_oneof![Just(0.0), 1e-9..1e-2f64],
    ) {
        let flattened = |points: &Points| -> Points {
            stored(&points.iter().map(|p| std::array::from_fn(|k| if k < flat { p[k] } else { noise * p[k] })).collect::<Points>())
        };
        let (mobile, reference) = (flattened(&mobile), flattened(&reference));
        let (ours, oracle) = (rmsd(&mobile, &reference, Some(&weights)), kabsch(&mobile, &reference, &weights));
        // If the distance is nearly zero, the oracle loses digits.
        prop_assert!((ours - oracle).abs() < 1e-9 || ours.max(oracle) < 1e-6, "{} and {}", ours, oracle);
        prop_assert!(rmsd(&mobile, &mobile, None) < 1e-9);
    }

    #[test]
    fn test_rmsd_equals_kabsch_when_one_is_the_mirror_image(reference in points(4..60)) {
        let mirrored: Points = reference.iter().map(|p| [p[0], p[1], -p[2]]).collect();
        let ones = vec![1.0; reference.len()];
        prop_assert!((rmsd(&mirrored, &reference, None) - kabsch(&mirrored, &reference, &ones)).abs() < 1e-9);
    }

    #[test]
    fn test_rmsd_near_zero_is_that_of_the_displacement(mut reference in points(20..60), height in -12..-2i32) {
        // Two atoms move apart from a common centre along the line between them. No rotation reduces this displacement.
        let displacement = 10f64.powi(height);
        (reference[0], reference[1]) = ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]);
        let mut moved = reference.clone();
        (moved[0][0], moved[1][0]) = (1.0 + displacement, -1.0 - displacement);
        let expected = displacement * (2.0 / reference.len() as f64).sqrt();
        // The rotation of the complete structure towards the moved atoms removes a fraction of the order of 1 / n.
        let ours = rmsd(&reference, &moved, None);
        prop_assert!(ours <= expected + 1e-13 && ours > 0.8 * expected - 1e-13, "{} and {}", ours, expected);
    }
}

fn rmsd_scaled(mobile: &[[f64; 3]], reference: &[[f64; 3]]) -> f64 {
    let level = Level::detect();
    let reference = Reference::new(reference, None, level).unwrap();
    level.run(Minimum(&reference, frame(mobile).octets(0)))
}

#[test]
fn test_rmsd_of_one_atom_is_zero() {
    assert_eq!(rmsd(&[[5.0, 6.0, 7.0]], &[[-1.0, 2.5, 300.0]], None), 0.0);
}

#[test]
fn test_rmsd_of_two_atoms_is_half_the_difference_of_their_distances() {
    let value = rmsd(&[[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], &[[9.0, 1.0, 5.0], [9.0, 1.0, 7.0]], None);
    assert!((value - 0.5).abs() < 1e-12, "{value}");
}

#[test]
fn test_rmsd_is_finite_when_all_atoms_are_in_one_place() {
    let (spread, one_place) = ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [[4.0, 4.0, 4.0]; 3]);
    assert_eq!(rmsd(&one_place, &one_place, None), 0.0);
    let expected = kabsch(&spread, &one_place, &[1.0; 3]);
    assert!((rmsd(&spread, &one_place, None) - expected).abs() < 1e-12);
    assert!((rmsd(&one_place, &spread, None) - expected).abs() < 1e-12);
    let speck = spread.map(|point| point.map(|value| value * 1e-160));
    assert!(rmsd(&one_place, &speck, None) < 1e-159);
}

#[test]
fn test_rmsd_survives_the_largest_and_smallest_float32() {
    for size in [f32::MAX, f32::MIN_POSITIVE] {
        let size = f64::from(size);
        let (a, b) = ([[0.0; 3], [size, 0.0, 0.0]], [[0.0; 3], [0.0, 0.5 * size, 0.0]]);
        assert!((rmsd_scaled(&a, &b) / size - 0.25).abs() < 1e-12);
    }
}

#[test]
fn test_rmsd_is_precise_far_from_the_origin() {
    let near: Points = (0..50).map(|i| [f64::from(i % 5), f64::from(i % 7), f64::from(i % 3)]).collect();
    let other: Points = near.iter().map(|p| [p[0] + 0.25 * p[1], p[1], p[2] - 0.5 * p[0]]).collect();
    let far: Points = other.iter().map(|p| [p[0] + 65536.0, p[1] - 65536.0, p[2] + 32768.0]).collect();
    let far_reference: Points = near.iter().map(|p| p.map(|v| v - 1e6)).collect();
    assert!((rmsd(&far, &far_reference, None) - rmsd(&other, &near, None)).abs() < 1e-9);
}

#[test]
fn test_superpose_refuses_another_number_of_atoms() {
    let reference = Reference::new(&[[0.0; 3]; 3], None, Level::detect()).unwrap();
    let error = reference.superpose(frame(&[[0.0; 3]; 2]).columns(0)).unwrap_err();
    assert!(error.to_string().contains("has 3 atoms"), "{error}");
}
