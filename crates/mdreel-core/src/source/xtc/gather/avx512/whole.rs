//! Placing every atom of every group: the wanted ones follow one another, as the sums of a group do.

use std::arch::x86_64::*;

use super::packed::WIDTH;
use super::{ATOMS, Flat};
use crate::frame::ColumnsMut;
use crate::source::xtc::control::{CHUNK, Group};
use crate::units::ANGSTROM_PER_NANOMETRE;

/// Rows of a vector.
const ROWS: usize = 4;
/// Atoms whose rows become columns at a time.
const BLOCK: usize = 4 * ROWS;

/// The rows of the atoms of a chunk, in Å: x, y, z and nothing.
#[derive(Debug)]
pub(crate) struct Rows([[f32; 4]; ATOMS + BLOCK]);

impl Default for Rows {
    fn default() -> Self {
        Rows([[0.0; 4]; ATOMS + BLOCK])
    }
}

impl Flat {
    /// Writes all atoms of `groups`, as far as there is room; returns how many.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn finish_whole(
        &mut self,
        inverse_precision: f32,
        groups: &[Group],
        columns: &mut ColumnsMut<'_>,
        at: usize,
    ) -> usize {
        let (inverse, factor) = (_mm512_set1_ps(inverse_precision), _mm512_set1_ps(ANGSTROM_PER_NANOMETRE));
        // In a group with a run the first small coordinate belongs before the big one, that is before no small one.
        let in_order = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let swapped = _mm512_setr_epi64(2, 3, 0, 1, 4, 5, 6, 7);
        let mut n = 0;
        for (g, group) in groups.iter().enumerate().take(CHUNK) {
            let (run, start) = (group.run(), usize::from(self.starts[g]));
            // SAFETY: `start` is the number of a small coordinate of the chunk, `n` that of an atom; behind the last of
            // each, `sums` and `rows` have room for the three vectors of the longest run.
            unsafe {
                let base = _mm512_broadcast_i32x4(_mm_loadu_si128(self.bases.as_ptr().add(g).cast()));
                let sums = self.sums.as_ptr().add(start);
                let rows = self.rows.0.as_mut_ptr().add(n);
                let placed = |sums: __m512i| {
                    let rows = _mm512_cvtepi32_ps(_mm512_add_epi32(sums, base));
                    _mm512_mul_ps(_mm512_mul_ps(rows, inverse), factor)
                };
                let order = _mm512_mask_mov_epi64(in_order, if run == 0 { 0 } else { 0xff }, swapped);
                let first = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(sums.cast()));
                _mm512_storeu_ps(rows.cast(), placed(first));
                _mm512_storeu_ps(rows.add(ROWS).cast(), placed(_mm512_loadu_si512(sums.add(ROWS).cast())));
                if run >= WIDTH {
                    let rest = _mm512_loadu_si512(sums.add(WIDTH).cast());
                    _mm512_storeu_ps(rows.add(WIDTH).cast(), placed(rest));
                }
            }
            n += run + 1;
        }
        let n = n.min(columns.x.len() - at);
        self.rows.to_columns(n, columns, at);
        n
    }
}

impl Rows {
    /// Writes the first `n` rows as columns.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn to_columns(&self, n: usize, columns: &mut ColumnsMut<'_>, at: usize) {
        let picks: [__m512i; 3] = [pick(0), pick(1), pick(2)];
        let targets = [&mut columns.x, &mut columns.y, &mut columns.z];
        let [x, y, z] = targets.map(|column| column[at..at + n].as_mut_ptr());
        for i in (0..n).step_by(BLOCK) {
            let mask = u16::MAX >> BLOCK.saturating_sub(n - i).min(15);
            // SAFETY: there is a block of rows behind the last one; the mask keeps the stores within the columns.
            unsafe {
                let rows = self.0.as_ptr().add(i);
                let load = |k: usize| _mm512_loadu_ps(rows.add(k * ROWS).cast());
                let (a, b, c, d) = (load(0), load(1), load(2), load(3));
                for (axis, column) in [x, y, z].into_iter().enumerate() {
                    let low = _mm512_permutex2var_ps(a, picks[axis], b);
                    let high = _mm512_permutex2var_ps(c, picks[axis], d);
                    let both = _mm512_insertf32x8::<1>(low, _mm512_castps512_ps256(high));
                    _mm512_mask_storeu_ps(column.add(i), mask, both);
                }
            }
        }
    }
}

/// Picks the numbers of one axis from two vectors of four rows each.
#[target_feature(enable = "avx512f")]
fn pick(axis: i32) -> __m512i {
    let rows = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm512_add_epi32(rows, _mm512_set1_epi32(axis))
}
