//! Placement of the atoms of every group if all atoms are selected: the atoms are consecutive, like the sums of a
//! group.

use std::arch::x86_64::*;

use super::Flat;
use super::packed::WIDTH;
use super::rows::ROWS;
use crate::frame::ColumnsMut;
use crate::source::xtc::control::{CHUNK, Group};
use crate::units::ANGSTROM_PER_NANOMETRE;

impl Flat {
    /// Writes all atoms of `groups`, as far as there is room, and returns their number.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn finish_whole(
        &mut self,
        inverse_precision: f32,
        groups: &[Group],
        columns: &mut ColumnsMut<'_>,
        at: usize,
    ) -> usize {
        let (inverse, factor) = (_mm512_set1_ps(inverse_precision), _mm512_set1_ps(ANGSTROM_PER_NANOMETRE));
        // In a group with a run, the first small coordinate belongs before the big one, whose sum contains no small
        // coordinate.
        let in_order = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let swapped = _mm512_setr_epi64(2, 3, 0, 1, 4, 5, 6, 7);
        let mut n = 0;
        for (g, group) in groups.iter().enumerate().take(CHUNK) {
            let (run, start) = (group.run(), usize::from(self.starts[g]));
            // SAFETY: `start` is the index of a small coordinate of the chunk, and `n` is that of an atom. After the
            // last of each, `sums` and `rows` have room for the three vectors of the longest run.
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
