//! Rows of the atoms of a chunk, and their conversion to columns.

use std::arch::x86_64::*;

use super::packed::WIDTH;
use crate::frame::ColumnsMut;
use crate::source::xtc::control::{CHUNK, MAX_RUN};

/// Capacity for the atoms of a chunk and the excess of the last store.
pub(super) const ATOMS: usize = CHUNK * (MAX_RUN + 1) + 2 * WIDTH;

/// Number of rows of a vector.
pub(super) const ROWS: usize = 4;

/// Number of atoms whose rows are converted to columns at a time.
pub(super) const BLOCK: usize = 4 * ROWS;

/// Rows of the atoms of a chunk, in Å: x, y, z and an unused element.
#[derive(Debug)]
pub(crate) struct Rows(pub(super) [[f32; 4]; ATOMS + BLOCK]);

impl Default for Rows {
    fn default() -> Self {
        Rows([[0.0; 4]; ATOMS + BLOCK])
    }
}

impl Rows {
    /// Writes the first `n` rows as columns.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn to_columns(&self, n: usize, columns: &mut ColumnsMut<'_>, at: usize) {
        let picks: [__m512i; 3] = [pick(0), pick(1), pick(2)];
        let targets = [&mut columns.x, &mut columns.y, &mut columns.z];
        let [x, y, z] = targets.map(|column| column[at..at + n].as_mut_ptr());
        for i in (0..n).step_by(BLOCK) {
            let mask = u16::MAX >> BLOCK.saturating_sub(n - i).min(15);
            // SAFETY: there is room for a block of rows after the last one, and the mask keeps the stores within the
            // columns.
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

/// Returns the indices of the numbers of one axis in two vectors of four rows each.
#[target_feature(enable = "avx512f")]
fn pick(axis: i32) -> __m512i {
    let rows = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm512_add_epi32(rows, _mm512_set1_epi32(axis))
}
