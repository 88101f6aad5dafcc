//! Sums over the atoms of a frame that a superposition needs.

use super::points::WeightedPoints;
use crate::frame::{LANES, Octets};
use crate::simd::{Lanes, Octet};

/// Octets in a tile: the part of the reference that stays in the first-level cache while three columns are processed.
const TILE: usize = 64;

/// Weighted moments of a frame relative to a centred reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    /// Weighted centre of the frame, Å.
    pub centre: [f64; 3],
    /// Weighted sum of the square distances to the first atom, Å². It measures the size of the terms that cancelled in
    /// `second_moment`.
    pub uncentred: f64,
    /// Weighted sum of the square distances to the centre, Å².
    pub second_moment: f64,
    /// `inner[i][j]`: the weighted sum of coordinate i of the frame times coordinate j of the reference, Å².
    pub inner: [[f64; 3]; 3],
}

/// The sums over one coordinate of the frame.
#[derive(Clone, Copy)]
struct ColumnSums<L> {
    total: L,
    square: L,
    inner: [L; 3],
}

impl<L: Lanes> ColumnSums<L> {
    /// Adds eight atoms. With weights of 1, the result has the same bits as without weights.
    #[inline(always)]
    fn add<const WEIGHTED: bool>(&mut self, x: &[f32; LANES], origin: L, weighted: &[Octet; 3], weight: &Octet) {
        let distance = L::widen(x).sub(origin);
        let weighted_distance = if WEIGHTED { distance.mul(L::load(weight)) } else { distance };
        self.total = self.total.add(weighted_distance);
        self.square = weighted_distance.mul_add(distance, self.square);
        for (inner, weighted) in self.inner.iter_mut().zip(weighted) {
            *inner = distance.mul_add(L::load(weighted), *inner);
        }
    }
}

/// Returns the moments of `frame` relative to centred points. `weighted` contains these points times their weights.
///
/// One pass is sufficient: the sums use distances to the first atom, and the centre is removed from them afterwards.
/// The products with the reference need no such correction, because the reference is centred.
#[inline(always)]
pub(super) fn moments<L: Lanes>(points: &WeightedPoints, weighted: &[[Octet; 3]], frame: Octets<'_>) -> Moments {
    if points.is_uniform {
        column_sums::<L, false>(points, weighted, frame)
    } else {
        column_sums::<L, true>(points, weighted, frame)
    }
}

#[inline(always)]
fn column_sums<L: Lanes, const WEIGHTED: bool>(
    points: &WeightedPoints,
    weighted: &[[Octet; 3]],
    frame: Octets<'_>,
) -> Moments {
    let origin = frame.map(|column| f64::from(column[0][0]));
    let zero = L::splat(0.0);
    let mut sums = [ColumnSums { total: zero, square: zero, inner: [zero; 3] }; 3];
    let n_whole = points.n_points / LANES;
    for start in (0..n_whole).step_by(TILE) {
        let stop = n_whole.min(start + TILE);
        let (weighted, weights) = (&weighted[start..stop], &points.weights[start..stop]);
        for k in 0..3 {
            let (mut sum, origin) = (sums[k], L::splat(origin[k]));
            for ((x, weighted), weight) in frame[k][start..stop].iter().zip(weighted).zip(weights) {
                sum.add::<WEIGHTED>(x, origin, weighted, weight);
            }
            sums[k] = sum;
        }
    }
    if n_whole < weighted.len() {
        for k in 0..3 {
            // The weights of the padding are 0.
            sums[k].add::<true>(&frame[k][n_whole], L::splat(origin[k]), &weighted[n_whole], &points.weights[n_whole]);
        }
    }
    // These are loops because the compiler would compile closures separately, without the vector instructions.
    let (mut mean, mut square, mut centre, mut inner) = ([0.0; 3], [0.0; 3], [0.0; 3], [[0.0; 3]; 3]);
    for k in 0..3 {
        mean[k] = sums[k].total.sum() / points.total_weight;
        square[k] = sums[k].square.sum();
        centre[k] = origin[k] + mean[k];
        for (inner, sum) in inner[k].iter_mut().zip(sums[k].inner) {
            *inner = sum.sum();
        }
    }
    let uncentred = (square[0] + square[1]) + square[2];
    let of_centre = mean[0].mul_add(mean[0], mean[1].mul_add(mean[1], mean[2] * mean[2]));
    Moments {
        centre,
        uncentred,
        // The difference may be slightly negative because of rounding.
        second_moment: of_centre.mul_add(-points.total_weight, uncentred).max(0.0),
        inner,
    }
}
