//! Superposition of selected pairs of points with equal weights.

use super::eigen::{key_matrix, rotation_matrix};
use crate::symmetric::largest_eigenpair;

/// x, y and z coordinates of points, Å.
pub(crate) type Points = [Vec<f64>; 3];

/// A rotation and the subsequent shift, Å.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    /// Rotation matrix.
    pub rotation: [[f64; 3]; 3],
    /// Shift after the rotation, Å.
    pub shift: [f64; 3],
}

/// Returns the motion that brings the `chosen` points of `mobile` closest to those of `reference`. `chosen` must not be
/// empty.
#[inline(always)]
pub(crate) fn superpose_pairs(mobile: &Points, reference: &Points, chosen: &[u32]) -> Motion {
    let (from, to) = (centre(mobile, chosen), centre(reference, chosen));
    let mut inner = [[0.0; 3]; 3];
    for &place in chosen {
        let place = place as usize;
        for (row, (column, from)) in inner.iter_mut().zip(mobile.iter().zip(from)) {
            for (sum, (other, to)) in row.iter_mut().zip(reference.iter().zip(to)) {
                *sum += (column[place] - from) * (other[place] - to);
            }
        }
    }
    let rotation = rotation_matrix(largest_eigenpair(key_matrix(&inner)).1);
    let turned = rotation.map(|[x, y, z]| x * from[0] + y * from[1] + z * from[2]);
    Motion { rotation, shift: std::array::from_fn(|k| to[k] - turned[k]) }
}

#[inline(always)]
fn centre(points: &Points, chosen: &[u32]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for &place in chosen {
        for (sum, column) in sums.iter_mut().zip(points) {
            *sum += column[place as usize];
        }
    }
    sums.map(|sum| sum / chosen.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Columns;
    use crate::simd::Level;
    use crate::superpose::Reference;

    proptest! {
        #[test]
        fn motion_is_that_of_the_superposition_of_the_chosen_points(
            points in prop::collection::vec(prop::array::uniform6(-30f32..30.0), 8),
        ) {
            let column = |k: usize| points.iter().map(|point| point[k]).collect::<Vec<f32>>();
            let wide = |k: usize| column(k).into_iter().map(f64::from).collect::<Vec<f64>>();
            let (mobile, reference) = ([wide(0), wide(1), wide(2)], [wide(3), wide(4), wide(5)]);
            let chosen = [1, 2, 3, 5, 7];
            let picked = |k: usize| chosen.map(|place| column(k)[place as usize]);
            let (x, y, z) = (picked(0), picked(1), picked(2));
            let targets: Vec<[f64; 3]> =
                chosen.iter().map(|&place| std::array::from_fn(|k| reference[k][place as usize])).collect();
            let expected = Reference::new(&targets, None, Level::detect()).unwrap();
            let expected = expected.superpose(Columns { x: &x, y: &y, z: &z }).unwrap();
            let found = superpose_pairs(&mobile, &reference, &chosen);
            for point in &points {
                let point: [f64; 3] = std::array::from_fn(|k| f64::from(point[k]));
                let moved = expected.apply(point);
                for (k, [x, y, z]) in found.rotation.into_iter().enumerate() {
                    let own = x * point[0] + y * point[1] + z * point[2] + found.shift[k];
                    prop_assert!((own - moved[k]).abs() < 1e-6, "{own} and {}", moved[k]);
                }
            }
        }
    }
}
