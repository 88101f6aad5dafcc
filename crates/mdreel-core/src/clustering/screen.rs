//! Decisions about neighbours from bounds and single precision, with a margin for every rounding error.
//!
//! Let A and B be centred frames, times the square roots of their weights. Let m be half the sum of all squares, and λ
//! the largest eigenvalue of the key matrix of M = Aᵀ B. The RMSD d satisfies `W d² = 2 (m - λ)` with the sum W of the
//! weights, so `d <= c` is equivalent to `λ >= m - W c² / 2`. This module computes M in float32. Let u = 2⁻²⁴ be its
//! rounding error:
//!
//! * The relative rounding error of a coordinate is u, and the error of its centre is at most u times the radius of
//!   gyration. Each frame then differs by at most (1 + √3) u |A|.
//! * [`CHUNK`] products are added in float32. The error of this sum is at most a fraction 64 u / (1 - 64 u) of the sum
//!   of their magnitudes. Chunks are added in float64.
//! * The error of M is therefore less than 69.7 u |A| |B| in the Frobenius norm, with |A| |B| <= m. λ is the largest
//!   trace of R M over rotations R, and changes by at most √3 times that: by less than 120.8 u m. [`MARGIN`] is 128 u.
//!   The difference is much larger than the float64 rounding errors in this module and in the RMSD itself.
//!
//! The module does not compute eigenvalues. Let P be the characteristic polynomial, whose roots are all real, and let x
//! be a number. If P and its derivatives are positive at x, Taylor's series is positive at all numbers from x on, so
//! `λ < x`. If one of them is negative at x, then `λ > x`: if no root were above x, P would be a product of factors that
//! are not negative at x, and so would be all terms of its derivatives. Pairs for which neither holds within the margin
//! stay undecided.

use super::groups::Groups;
use super::lanes::{Distances, Sixteen, WIDTH};
use crate::simd::{Lanes, Level, Operation};

/// Number of atoms whose products are added in single precision.
const CHUNK: usize = 64;
/// Bound on the error of the largest eigenvalue, relative to half the sum of the squares of both frames.
const MARGIN: f64 = 128.0 / (1u64 << 24) as f64;
/// Upper limit of the float64 rounding error of the polynomial, in which no term exceeds a few units.
const ROUNDING: f64 = 1e-12;

/// A frame that is compared with groups.
pub(super) struct Row {
    /// Centred positions, times the square roots of their weights, Å.
    pub points: Vec<[f32; 3]>,
    /// Half the sum of the squares of `points`.
    pub half_moment: f64,
    /// Distances from the pivots, Å.
    pub distances: Vec<f32>,
}

/// The decisions about a row and the frames of a group, with one bit per frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Decision {
    /// Frames that are neighbours.
    pub near: u16,
    /// Frames that may be neighbours.
    pub undecided: u16,
}

/// The cutoff in the quantities of this module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Half the square of the cutoff times the sum of the weights, Å².
    pub half_square: f64,
    /// The largest difference of the distances of two neighbours from a pivot, Å.
    pub reach: f32,
}

/// Buffers for a tile of rows.
#[derive(Default)]
pub(super) struct Room(Vec<[[f64; WIDTH]; 9]>);

/// Rows, and the group of frames with which they are compared.
pub(super) struct Comparison<'a> {
    pub limits: Limits,
    pub rows: &'a [Row],
    pub groups: &'a Groups,
    pub group: usize,
    /// The frames that each row is compared with, as a bit mask.
    pub wanted: &'a [u16],
}

impl Comparison<'_> {
    /// Replaces `decisions` by the decisions for each row.
    pub(super) fn decide(self, level: Level, room: &mut Room, decisions: &mut Vec<Decision>) {
        room.0.clear();
        room.0.resize(self.rows.len(), [[0.0; WIDTH]; 9]);
        decisions.clear();
        decisions.resize(self.rows.len(), Decision::default());
        let screen = Screen { comparison: self, products: &mut room.0, decisions };
        if level.is_avx512() {
            level.run(Wide::<WIDTH, true>(screen));
        } else if level.name() == "portable" {
            level.run(Wide::<4, false>(screen));
        } else {
            level.run(Wide::<8, true>(screen));
        }
    }
}

struct Screen<'a> {
    comparison: Comparison<'a>,
    /// Sums of products of a row and each frame of the group: of x of the row with x, y and z, then of y, then of z.
    products: &'a mut [[[f64; WIDTH]; 9]],
    decisions: &'a mut [Decision],
}

/// The computation with `N` float32 values at a time. If `FUSED`, it uses fused multiply-add.
struct Wide<'a, const N: usize, const FUSED: bool>(Screen<'a>);

impl<const N: usize, const FUSED: bool> Operation for Wide<'_, N, FUSED> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Screen { comparison, products, decisions } = self.0;
        let Comparison { limits, rows, groups, group, wanted } = comparison;
        let mut is_any = false;
        for ((row, wanted), decision) in rows.iter().zip(wanted).zip(decisions.iter_mut()) {
            decision.undecided = wanted & within_reach(&row.distances, groups.distances(group), limits.reach);
            is_any |= decision.undecided != 0;
        }
        if !is_any {
            return;
        }
        let columns = groups.coordinates(group);
        for first in (0..columns.len()).step_by(CHUNK) {
            let atoms = first..columns.len().min(first + CHUNK);
            for ((row, products), decision) in rows.iter().zip(products.iter_mut()).zip(decisions.iter()) {
                if decision.undecided != 0 {
                    for part in (0..WIDTH).step_by(N) {
                        let sums = sums::<N, FUSED>(&row.points[atoms.clone()], &columns[atoms.clone()], part);
                        for (products, sums) in products.iter_mut().zip(&sums) {
                            for (product, sum) in products[part..part + N].iter_mut().zip(sums) {
                                *product += f64::from(*sum);
                            }
                        }
                    }
                }
            }
        }
        for ((row, products), decision) in rows.iter().zip(products.iter()).zip(decisions.iter_mut()) {
            if decision.undecided != 0 {
                let (far, near) = compare(products, row.half_moment, groups.half_moments(group), limits.half_square);
                decision.near = decision.undecided & near;
                decision.undecided &= !(far | near);
            }
        }
    }
}

/// Returns a bit mask of the frames that no bound rules out.
#[inline(always)]
fn within_reach(row: &[f32], distances: &Distances, reach: f32) -> u16 {
    for (distance, [low, high]) in row.iter().zip(&distances.ranges) {
        if *distance - *high > reach || *low - *distance > reach {
            return 0;
        }
    }
    let mut beyond = [0u16; WIDTH];
    for (distance, Sixteen(others)) in row.iter().zip(&distances.each) {
        for lane in 0..WIDTH {
            // A NaN distance rules out nothing.
            beyond[lane] |= u16::from((*distance - others[lane]).abs() > reach);
        }
    }
    let mut within = 0;
    for (lane, beyond) in beyond.iter().enumerate() {
        within |= (1 - beyond) << lane;
    }
    within
}

/// Returns the sums of the products of a row with `N` frames from the lane `part` on.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "vector instructions: with iterators it takes ten times as long")]
fn sums<const N: usize, const FUSED: bool>(row: &[[f32; 3]], columns: &[[Sixteen; 3]], part: usize) -> [[f32; N]; 9] {
    let mut sums = [[0.0; N]; 9];
    for (point, column) in row.iter().zip(columns) {
        for i in 0..3 {
            for j in 0..3 {
                for lane in 0..N {
                    let (value, sum) = (column[j].0[part + lane], sums[3 * i + j][lane]);
                    sums[3 * i + j][lane] = if FUSED { point[i].mul_add(value, sum) } else { point[i] * value + sum };
                }
            }
        }
    }
    sums
}

/// Returns bit masks of the frames of a group that are certainly not neighbours of a row, and of those that certainly
/// are.
#[inline(always)]
fn compare(products: &[[f64; WIDTH]; 9], half_moment: f64, others: &[f64; WIDTH], half_square: f64) -> (u16, u16) {
    let (mut lowest, mut highest) = ([0.0; WIDTH], [0.0; WIDTH]);
    for lane in 0..WIDTH {
        let scale = 1.0 / (half_moment + others[lane]);
        let mut m = [0.0; 9];
        for k in 0..9 {
            m[k] = products[k][lane] * scale;
        }
        let minor = |a: usize, b: usize, c: usize, d: usize| m[a] * m[b] - m[c] * m[d];
        let c = [
            [minor(4, 8, 5, 7), minor(5, 6, 3, 8), minor(3, 7, 4, 6)],
            [minor(7, 2, 8, 1), minor(8, 0, 6, 2), minor(6, 1, 7, 0)],
            [minor(1, 5, 2, 4), minor(2, 3, 0, 5), minor(0, 4, 1, 3)],
        ];
        let square = ((m[0] * m[0] + m[1] * m[1] + m[2] * m[2]) + (m[3] * m[3] + m[4] * m[4] + m[5] * m[5]))
            + (m[6] * m[6] + m[7] * m[7] + m[8] * m[8]);
        let mut cofactors = 0.0;
        for row in &c {
            cofactors += row[0] * row[0] + row[1] * row[1] + row[2] * row[2];
        }
        // See `superpose::quartic`.
        let determinant = m[0] * c[0][0] + m[1] * c[0][1] + m[2] * c[0][2];
        let (c2, c1, c0) = (-2.0 * square, -8.0 * determinant, square * square - 4.0 * cofactors);
        let threshold = 1.0 - half_square * scale;
        lowest[lane] = least(threshold - MARGIN, c2, c1, c0);
        highest[lane] = least(threshold + MARGIN, c2, c1, c0);
    }
    let (mut far, mut near) = (0, 0);
    for lane in 0..WIDTH {
        // NaN marks frames for which single precision is not sufficient. They are neither far nor near.
        far |= u16::from(lowest[lane] > ROUNDING) << lane;
        near |= u16::from(highest[lane] < -ROUNDING) << lane;
    }
    (far, near)
}

/// Returns the smallest of `x⁴ + c2 x² + c1 x + c0` and its derivatives. The second and third derivatives are divided
/// by constants.
#[inline(always)]
fn least(x: f64, c2: f64, c1: f64, c0: f64) -> f64 {
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let square = x * x;
    let value = ((square + c2) * x + c1) * x + c0;
    let slope = (4.0 * square + 2.0 * c2) * x + c1;
    lesser(lesser(value, slope), lesser(6.0 * square + c2, x))
}
