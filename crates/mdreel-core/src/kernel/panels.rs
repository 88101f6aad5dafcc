//! Exact sums of the products of all pairs of columns of a matrix of displacements.
//!
//! Displacements are integers in steps of 2^-21 Å. Their products add up in 64 bits, so the sums have the same bits for
//! any grouping of rows. The matrix product is cut into panels that stay in the cache, over all rows that are kept.
//! See `docs/design/009-covariance.md`.

use crate::error::{Error, Result};
use crate::reduce::Sum;
use crate::simd::{Lanes, Operation};

/// Bits behind the binary point of displacements: no coarser than float32 from 4 Å on.
pub(super) const FRACTION: u32 = 21;
/// Å below which a displacement takes 28 bits and the product of two 56.
const NEAR: f64 = 128.0;
/// Rows whose products add up in 64 bits for certain.
pub(super) const MOST_ROWS: usize = 64;
/// Å beyond which squares are too large for a sum.
const FAR: f64 = 262_144.0;
/// Columns of a panel: as many as stay in the first-level cache, of all rows.
pub(super) const WIDTH: usize = 64;
/// Rows whose products add up in one go.
const AT_ONCE: usize = 8;

/// Displacements in steps, of some columns to a panel, row after row.
#[derive(Debug, Clone, Default)]
pub(super) struct Panels {
    n_columns: usize,
    n_rows: usize,
    steps: Vec<[[i32; WIDTH]; MOST_ROWS]>,
}

impl Panels {
    /// Makes room for so many columns.
    pub(super) fn reserve(&mut self, n_columns: usize) {
        self.n_columns = n_columns;
        self.steps.resize(n_columns.div_ceil(WIDTH), [[0; WIDTH]; MOST_ROWS]);
    }

    /// Whether there is no room for `n_rows` more rows.
    pub(super) fn is_full(&self, n_rows: usize) -> bool {
        self.n_rows + n_rows > MOST_ROWS
    }

    /// The steps in the next row, `ahead` rows on, to be written to.
    #[inline(always)]
    pub(super) fn step(&mut self, ahead: usize, column: usize) -> &mut i32 {
        &mut self.steps[column / WIDTH][self.n_rows + ahead][column % WIDTH]
    }

    /// Keeps the next rows, which were written to.
    #[inline(always)]
    pub(super) fn keep(&mut self, n_rows: usize) {
        self.n_rows += n_rows;
    }

    /// Fills up with rows that add nothing.
    pub(super) fn pad(&mut self) {
        let padding = self.n_rows..self.n_rows.next_multiple_of(AT_ONCE);
        self.steps.iter_mut().for_each(|panel| panel[padding.clone()].fill([0; WIDTH]));
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.n_rows = 0;
    }

    /// Adds up every `every`-th row from row `first` on, and adds the total of each column to the sum that `place`
    /// names.
    pub(super) fn add_rows(&self, first: usize, every: usize, place: impl Fn(usize) -> usize, sums: &mut [Sum]) {
        for (p, panel) in self.steps.iter().enumerate() {
            let mut total = [0i64; WIDTH];
            for row in panel[..self.n_rows].iter().skip(first).step_by(every) {
                total.iter_mut().zip(row).for_each(|(total, step)| *total += i64::from(*step));
            }
            for (i, total) in total.iter().enumerate().take(self.n_columns - p * WIDTH) {
                sums[place(p * WIDTH + i)] += Sum::of_steps(*total, FRACTION);
            }
        }
    }
}

/// Whether all displacements from a reference, Å, are small enough for panels. NaN is not.
#[inline(always)]
pub(super) fn are_near(columns: [&[f64]; 3], reference: &[Vec<f64>; 3]) -> bool {
    for (of, from) in columns.into_iter().zip(reference) {
        if !of.iter().zip(from).fold(true, |near, (of, from)| near & ((of - from).abs() < NEAR)) {
            return false;
        }
    }
    true
}

/// The displacement of each atom of a frame from a reference, in steps, or an error that names the first atom that is
/// too far away or not finite.
#[cold]
pub(super) fn far_steps(columns: [&[f64]; 3], reference: &[Vec<f64>; 3], frame: u64) -> Result<Vec<[i64; 3]>> {
    let steps = |atom: usize| {
        let d: [f64; 3] = std::array::from_fn(|k| columns[k][atom] - reference[k][atom]);
        // NaN is not within either.
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

/// Place of the product of column `i` with itself among those of the upper triangle of `n` columns, row after row.
pub(super) fn row_begin(i: usize, n: usize) -> usize {
    i * n - i * i.saturating_sub(1) / 2
}

/// Adds the products of all pairs of columns, over the rows of padded panels, to sums of the upper triangle.
pub(super) struct Multiply<'a> {
    pub panels: &'a Panels,
    pub sums: &'a mut [Sum],
}

impl Operation for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Multiply { panels: Panels { n_columns, n_rows, steps }, sums } = self;
        let n = *n_columns;
        for (p, panel) in steps.iter().enumerate() {
            let (first, width) = (p * WIDTH, WIDTH.min(n - p * WIDTH));
            for i in 0..first + width {
                // The row of column i, as far as it is in the panel and behind the diagonal.
                let begin = i.saturating_sub(first);
                let mut total = [0i64; WIDTH];
                for (of, with) in steps[i / WIDTH]
                    .chunks_exact(AT_ONCE)
                    .zip(panel.chunks_exact(AT_ONCE))
                    .take(n_rows.div_ceil(AT_ONCE))
                {
                    let of: [i32; AT_ONCE] = std::array::from_fn(|row| of[row][i % WIDTH]);
                    let with: [&[i32]; AT_ONCE] = std::array::from_fn(|row| &with[row][begin..width]);
                    add_products(&mut total[begin..width], of, with);
                }
                let row = row_begin(i, n) + first + begin - i;
                let sums = &mut sums[row..row + width - begin];
                sums.iter_mut()
                    .zip(&total[begin..])
                    .for_each(|(sum, steps)| *sum += Sum::of_steps(*steps, 2 * FRACTION));
            }
        }
    }
}

/// Adds products of one column with several, over a few rows.
#[inline(always)]
fn add_products(total: &mut [i64], of: [i32; AT_ONCE], with: [&[i32]; AT_ONCE]) {
    let with = with.map(|steps| &steps[..total.len()]);
    for (at, total) in total.iter_mut().enumerate() {
        for row in 0..AT_ONCE {
            *total += i64::from(of[row]) * i64::from(with[row][at]);
        }
    }
}
