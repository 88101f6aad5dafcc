//! Exact sums of the products of all pairs of columns of a matrix of displacements.
//!
//! Displacements are integers in steps of 2^-21 Å. Their products add up exactly in 64 bits, so the bits of the sums do not
//! depend on how rows are grouped. The matrix product is divided into panels of a few columns, which span all stored rows, and
//! into tiles whose totals stay in registers. See `docs/design/009-covariance.md`.

use crate::error::{Error, Result};
use crate::frame::LANES;
use crate::reduce::Sum;
use crate::simd::{Lanes, Level, Operation, Totals};

/// Number of fractional bits of displacements. From 4 Å on, this is no coarser than float32.
pub(super) const FRACTION: u32 = 21;
/// Displacement (Å) below which a displacement fits in 28 bits and the product of two displacements in 56 bits.
const NEAR: f64 = 128.0;
/// The square of the largest step of a displacement below `NEAR`.
const LARGEST: u64 = 1 << 56;
/// Largest number of rows that are stored. Fewer rows cost more memory bandwidth, because the totals are added to the sums more
/// often.
const MOST_ROWS: usize = 384;
/// Displacement (Å) beyond which squares are too large for a sum.
const FAR: f64 = 262_144.0;
/// Number of columns in a panel. A row of a panel is one cache line.
const WIDTH: usize = 16;

/// Displacements in steps, divided into panels of `WIDTH` columns. Each panel is stored row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Panels {
    n_columns: usize,
    n_rows: usize,
    /// Sum over the rows of the square of the largest step: an upper bound for every total of products.
    largest: u64,
    steps: Vec<[Row; MOST_ROWS]>,
}

/// The steps of one row in the columns of a panel.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Row([i32; WIDTH]);

impl Panels {
    /// Allocates memory for `n_columns` columns.
    pub(super) fn reserve(&mut self, n_columns: usize) {
        self.n_columns = n_columns;
        self.steps.resize(n_columns.div_ceil(WIDTH), [Row([0; WIDTH]); MOST_ROWS]);
    }

    /// Returns the step of a column in the row to be written next, or `ahead` rows after it.
    #[inline(always)]
    pub(super) fn step(&mut self, ahead: usize, column: usize) -> &mut i32 {
        &mut self.steps[column / WIDTH][self.n_rows + ahead].0[column % WIDTH]
    }

    /// Returns the number of columns, without the padding of the last panel.
    pub(super) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Returns whether no row is stored.
    pub(super) fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Returns whether `n_rows` more rows fit, whatever their steps are.
    pub(super) fn has_room(&self, n_rows: usize) -> bool {
        self.n_rows + n_rows <= MOST_ROWS && self.largest + n_rows as u64 * LARGEST <= i64::MAX as u64
    }

    /// Writes the displacements of the values `of` from the values `from` (Å), all below `NEAR`, to the row to be written next,
    /// or `ahead` rows after it. Returns the absolute value of the largest step.
    #[inline(always)]
    pub(super) fn write(&mut self, ahead: usize, of: &[f64], from: &[f64]) -> u32 {
        let (row, mut largest) = (self.n_rows + ahead, 0);
        for (panel, (of, from)) in self.steps.iter_mut().zip(of.chunks(WIDTH).zip(from.chunks(WIDTH))) {
            for ((step, of), from) in panel[row].0.iter_mut().zip(of).zip(from) {
                *step = Sum::steps(of - from, FRACTION) as i32;
                largest = step.unsigned_abs().max(largest);
            }
        }
        largest
    }

    /// Stores the next `N` rows, which have been written already. `largest` contains the largest step of each row.
    #[inline(always)]
    pub(super) fn keep<const N: usize>(&mut self, largest: [u32; N]) {
        self.n_rows += N;
        self.largest += largest.into_iter().map(|step| u64::from(step).pow(2)).sum::<u64>();
    }

    /// Adds the products of all pairs of columns, summed over all rows, to the sums of the upper triangle, and removes the
    /// rows.
    pub(super) fn multiply(&mut self, level: Level, sums: &mut [Sum]) {
        level.run(Multiply { panels: self, sums });
        (self.n_rows, self.largest) = (0, 0);
    }

    /// Adds up every `every`-th row from row `first` on, and adds the total of each column to the sum with the index
    /// `place(column)`.
    pub(super) fn add_rows(&self, first: usize, every: usize, place: impl Fn(usize) -> usize, sums: &mut [Sum]) {
        for (p, panel) in self.steps.iter().enumerate() {
            let mut total = [0i64; WIDTH];
            for row in panel[..self.n_rows].iter().skip(first).step_by(every) {
                total.iter_mut().zip(row.0).for_each(|(total, step)| *total += i64::from(step));
            }
            for (i, total) in total.iter().enumerate().take(self.n_columns - p * WIDTH) {
                sums[place(p * WIDTH + i)] += Sum::of_steps(*total, FRACTION);
            }
        }
    }
}

/// Returns whether all displacements from a reference, in Å, are small enough for panels. NaN is not.
#[inline(always)]
pub(super) fn are_near(columns: [&[f64]; 3], reference: &[Vec<f64>; 3]) -> bool {
    for (of, from) in columns.into_iter().zip(reference) {
        if !of.iter().zip(from).fold(true, |near, (of, from)| near & ((of - from).abs() < NEAR)) {
            return false;
        }
    }
    true
}

/// Returns the displacement of each atom of a frame from a reference, in steps. The error names the first atom that is too far
/// away or not finite.
#[cold]
pub(super) fn far_steps(columns: [&[f64]; 3], reference: &[Vec<f64>; 3], frame: u64) -> Result<Vec<[i64; 3]>> {
    let steps = |atom: usize| {
        let d: [f64; 3] = std::array::from_fn(|k| columns[k][atom] - reference[k][atom]);
        // This condition also rejects NaN.
        if !d.iter().all(|d| d.abs() <= FAR) {
            let at = columns.map(|column| column[atom]);
            let expected = "expected finite coordinates within 262 144 Å of the reference";
            let message = format!("atom {atom} of those selected is at {at:?}: {expected}");
            return Err(Error::mismatch(message).at_frame(frame));
        }
        Ok(d.map(|d| Sum::steps(d, FRACTION)))
    };
    (0..reference[0].len()).map(steps).collect()
}

/// Returns the index of the product of column `i` with itself in the upper triangle of `n` columns, which is stored row by row.
pub(super) fn row_begin(i: usize, n: usize) -> usize {
    i * n - i * i.saturating_sub(1) / 2
}

/// Operation that adds the products of all pairs of columns, summed over all rows, to the sums of the upper triangle.
struct Multiply<'a> {
    panels: &'a Panels,
    sums: &'a mut [Sum],
}

impl Operation for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        // The number of registers, which hold the totals of a tile and the factors, determines the size of the tile.
        if L::IS_WIDE {
            self.tiles::<L, 8, 2>();
        } else {
            self.tiles::<L, 4, 1>();
        }
    }
}

impl Multiply<'_> {
    /// Computes tiles of `N` columns by `M` octets of columns.
    #[inline(always)]
    fn tiles<L: Lanes, const N: usize, const M: usize>(self) {
        let Panels { n_columns, n_rows, steps, .. } = self.panels;
        for (p, of) in steps.iter().enumerate() {
            for (q, with) in steps.iter().enumerate().skip(p) {
                let rows = || of[..*n_rows].iter().zip(&with[..*n_rows]);
                for i in (0..WIDTH).step_by(N) {
                    for k in (0..WIDTH).step_by(M * LANES) {
                        let totals = tile::<L, N, M>(rows(), i, k);
                        add_tile(totals, p * WIDTH + i, q * WIDTH + k, *n_columns, self.sums);
                    }
                }
            }
        }
    }
}

/// Returns the products of `N` columns from column `i` of a panel with `M` octets of columns from column `k` of another, summed
/// over the rows of both panels.
#[inline(always)]
fn tile<'a, L: Lanes, const N: usize, const M: usize>(
    rows: impl Iterator<Item = (&'a Row, &'a Row)>,
    i: usize,
    k: usize,
) -> [[[i64; LANES]; M]; N] {
    let mut totals = [[L::Totals::zero(); M]; N];
    for (of, with) in rows {
        let of: &[i32; N] = of.0[i..].first_chunk().expect("a tile lies within a panel");
        let with = &with.0[k..].as_chunks::<LANES>().0[..M];
        let with: [_; M] = std::array::from_fn(|m| L::Totals::steps(&with[m]));
        for (totals, of) in totals.iter_mut().zip(of) {
            for (total, with) in totals.iter_mut().zip(with) {
                *total = total.add_products(*of, with);
            }
        }
    }
    totals.map(|totals| totals.map(L::Totals::store))
}

/// Adds the totals of a tile to the sums of the upper triangle of `n` columns. The tile begins at column `first` and, in the
/// other factor, at column `other`.
#[inline(always)]
fn add_tile<const N: usize, const M: usize>(
    totals: [[[i64; LANES]; M]; N],
    first: usize,
    other: usize,
    n: usize,
    sums: &mut [Sum],
) {
    let end = n.min(other + M * LANES);
    if other >= end {
        return; // the tile consists of padding of the last panel
    }
    for (i, totals) in (first..end).zip(&totals) {
        let (row, start) = (row_begin(i, n), other.max(i));
        let sums = &mut sums[row + start - i..row + end - i];
        for (sum, total) in sums.iter_mut().zip(&totals.as_flattened()[start - other..]) {
            *sum += Sum::of_steps(*total, 2 * FRACTION);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Operation that stores rows of displacements from 0, in Å.
    struct Keep<'a>(&'a mut Panels, &'a [Vec<f64>]);

    impl Operation for Keep<'_> {
        type Output = ();

        fn run<L: Lanes>(self) {
            for row in self.1 {
                assert!(self.0.has_room(1));
                let largest = self.0.write(0, row, &vec![0.0; row.len()]);
                self.0.keep([largest]);
            }
        }
    }

    fn panels(rows: &[Vec<f64>], level: Level) -> Panels {
        let mut panels = Panels::default();
        panels.reserve(rows[0].len());
        level.run(Keep(&mut panels, rows));
        panels
    }

    /// Returns the sums of the products of all pairs of columns, computed one by one in 128 bits.
    fn products(rows: &[Vec<f64>]) -> Vec<Sum> {
        let n = rows[0].len();
        let of_pair = |i: usize, j: usize| {
            let steps = |value: f64| i128::from(Sum::steps(value, FRACTION));
            Sum::of_wide_steps(rows.iter().map(|row| steps(row[i]) * steps(row[j])).sum(), 2 * FRACTION)
        };
        (0..n).flat_map(|i| (i..n).map(move |j| of_pair(i, j))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn products_of_all_pairs_are_exact(
            rows in (1usize..70).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(-7f64..7.0, n), 1..140)),
        ) {
            let (n, expected) = (rows[0].len(), products(&rows));
            for level in Level::available() {
                let mut panels = panels(&rows, level);
                prop_assert!(!panels.is_empty());
                let mut sums = vec![Sum::default(); n * (n + 1) / 2];
                panels.multiply(level, &mut sums);
                prop_assert_eq!(&sums, &expected, "{}", level.name());
                prop_assert!(panels.is_empty());
            }
        }
    }

    #[test]
    fn rows_have_room_until_a_total_might_overflow() {
        let count = |most: f64| {
            let mut rows: Vec<Vec<f64>> = Vec::new();
            let mut kept = Panels::default();
            kept.reserve(17);
            while kept.has_room(1) {
                rows.push((0..17).map(|column| if column % 2 == 0 { most } else { -most }).collect());
                let largest = kept.write(0, &rows[rows.len() - 1], &[0.0; 17]);
                kept.keep([largest]);
            }
            for level in Level::available() {
                let mut sums = vec![Sum::default(); 17 * 9];
                kept.clone().multiply(level, &mut sums);
                assert_eq!(sums, products(&rows), "{}", level.name());
            }
            rows.len()
        };
        assert_eq!(count(NEAR.next_down()), 127);
        assert_eq!(count(NEAR / 2.0), MOST_ROWS);
    }
}
