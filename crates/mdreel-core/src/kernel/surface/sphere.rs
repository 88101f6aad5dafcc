//! Points on a unit sphere, in patches of eight neighbouring points.

use std::f64::consts::PI;

use crate::frame::LANES;
use crate::simd::Octet;

/// Eight neighbouring points. The last patch may have fewer.
#[derive(Debug)]
pub(super) struct Patch {
    /// x, y and z of the points.
    pub points: [Octet; 3],
    /// Bit mask of the existing points.
    pub present: u8,
    /// The point of the sphere at the centre of the patch.
    pub centre: [f64; 3],
}

/// Points spread evenly over a sphere of radius 1.
#[derive(Debug)]
pub(super) struct Sphere {
    /// The number of points.
    pub n_points: usize,
    /// The patches, which together contain all points.
    pub patches: Vec<Patch>,
    /// Cosine and sine of the largest angle between a point and the centre of its patch; `None` if this angle is not below 90°.
    pub spread: Option<[f64; 2]>,
}

impl Sphere {
    /// Creates a sphere with the points of the golden spiral.
    pub(crate) fn new(n_points: usize) -> Self {
        let mut patches = Vec::with_capacity(n_points.div_ceil(LANES));
        cut(&mut golden_spiral(n_points), &mut patches);
        let cosine = patches.iter().map(Patch::least_cosine).fold(1.0, f64::min);
        let spread = (cosine > 0.0).then(|| [cosine, (1.0 - cosine * cosine).sqrt()]);
        Sphere { n_points, patches, spread }
    }
}

impl Patch {
    /// Creates a patch of up to eight points; the first point replaces missing ones.
    fn of(points: &[[f64; 3]]) -> Self {
        let column = |axis: usize| Octet(std::array::from_fn(|k| points.get(k).unwrap_or(&points[0])[axis]));
        let sums = [0, 1, 2].map(|axis: usize| points.iter().map(|point| point[axis]).sum::<f64>());
        let length = dot(sums, sums).sqrt();
        // If the points are distributed around the whole sphere, they have no mean direction, and any centre will do.
        let centre = if length > 1e-6 { sums.map(|sum| sum / length) } else { [0.0, 0.0, 1.0] };
        let present = u8::MAX >> (LANES - points.len());
        Patch { points: [0, 1, 2].map(column), present, centre }
    }

    /// Returns the cosine of the largest angle between a point and the centre.
    fn least_cosine(&self) -> f64 {
        let point = |k: usize| self.points.each_ref().map(|column| column.0[k]);
        (0..LANES).map(|k| dot(point(k), self.centre)).fold(1.0, f64::min)
    }
}

/// Returns points that are spread evenly over a sphere of radius 1.
///
/// Each point is in its own zone. All zones have the same height and therefore the same area. Each point is rotated by the
/// golden angle from the previous one.
pub(super) fn golden_spiral(n_points: usize) -> Vec<[f64; 3]> {
    let golden_angle = PI * (3.0 - 5f64.sqrt());
    let point = |k: usize| {
        let y = (2 * k + 1) as f64 / n_points as f64 - 1.0;
        let (radius, turn) = ((1.0 - y * y).sqrt(), k as f64 * golden_angle);
        [turn.cos() * radius, y, turn.sin() * radius]
    };
    (0..n_points).map(point).collect()
}

/// Divides points into patches, by splitting them recursively across the axis of their largest extent.
fn cut(points: &mut [[f64; 3]], patches: &mut Vec<Patch>) {
    if points.len() <= LANES {
        patches.push(Patch::of(points));
        return;
    }
    let lengths = [0, 1, 2].map(|axis: usize| {
        let (least, most) = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), p| (least.min(p[axis]), most.max(p[axis])));
        most - least
    });
    let axis = (0..3).fold(0, |longest, axis| if lengths[axis] > lengths[longest] { axis } else { longest });
    points.sort_unstable_by(|one, other| one[axis].total_cmp(&other[axis]));
    let n_patches = points.len().div_ceil(LANES);
    let (first, second) = points.split_at_mut(n_patches.div_ceil(2) * LANES);
    cut(first, patches);
    cut(second, patches);
}

fn dot([x, y, z]: [f64; 3], [a, b, c]: [f64; 3]) -> f64 {
    x * a + y * b + z * c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_hold_every_point_once() {
        for n_points in [1, 2, 7, 8, 9, 16, 24, 92, 100, 960, 1001] {
            let sphere = Sphere::new(n_points);
            assert_eq!(sphere.patches.len(), n_points.div_ceil(LANES));
            let mut found = Vec::new();
            for patch in &sphere.patches {
                let there = (0..LANES).filter(|k| patch.present & (1 << k) != 0);
                found.extend(there.map(|k| patch.points.each_ref().map(|column| column.0[k])));
            }
            let mut expected = golden_spiral(n_points);
            let order = |one: &[f64; 3], other: &[f64; 3]| one[1].total_cmp(&other[1]);
            found.sort_unstable_by(order);
            expected.sort_unstable_by(order);
            assert_eq!(found, expected);
            assert!(found.iter().all(|&point| (dot(point, point) - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn patches_are_small_where_there_are_many_points() {
        let [cosine, sine] = Sphere::new(960).spread.unwrap();
        assert!(cosine > 0.95, "{cosine}");
        assert!((cosine * cosine + sine * sine - 1.0).abs() < 1e-12);
        assert!(Sphere::new(6).spread.is_none());
    }

    #[test]
    fn points_are_spread_evenly() {
        for axis in 0..3 {
            let sum: f64 = golden_spiral(960).iter().map(|point| point[axis]).sum();
            assert!(sum.abs() < 1.0, "{sum}");
        }
    }
}
