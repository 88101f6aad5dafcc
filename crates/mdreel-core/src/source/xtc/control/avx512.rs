//! Control pass with AVX-512, with one lane per frame.

use std::arch::x86_64::*;

use super::{CHUNK, End, Group, Groups, LANES, NOWHERE, STRIDE, Walks, Wanted};

/// Meaning of the five bits after a flag. The lowest four bits hold the run length. The bits from bit 4 on hold the
/// change of the small index, plus 1.
static CONTROL: [u16; 32] = {
    let mut table = [0; 32];
    let mut code = 0;
    while code < 32 {
        table[code] = ((code / 3) | ((code % 3) << 4)) as u16;
        code += 1;
    }
    table
};

/// Number of lanes of a vector.
const WIDTH: usize = 8;

/// Walks as [`super::walk()`] does.
///
/// # Safety
/// The processor must have AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) unsafe fn walk<const ALL: bool>(walks: &mut Walks<'_>, wanted: &Wanted, groups: &mut Groups) {
    if walks.atom[WIDTH..].iter().all(|&atom| atom >= wanted.limit) {
        groups.counts = [0; LANES];
        walk_vectors::<1, ALL>(walks, wanted, groups);
    } else {
        walk_vectors::<2, ALL>(walks, wanted, groups);
    }
}

/// Walks `N` vectors of lanes side by side. While the step of one vector waits for its load, the other vector takes its
/// step.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn walk_vectors<const N: usize, const ALL: bool>(walks: &mut Walks<'_>, wanted: &Wanted, groups: &mut Groups) {
    let set = |value: u64| _mm512_set1_epi64(value as i64);
    let load = |column: &[u64; LANES]| -> [__m512i; N] {
        std::array::from_fn(|v| {
            // SAFETY: each array holds `LANES` words of 8 bytes, which is at least `N` vectors.
            unsafe { _mm512_loadu_si512(column.as_ptr().add(v * WIDTH).cast()) }
        })
    };
    let store = |column: &mut [u64; LANES], values: [__m512i; N]| {
        for (v, value) in values.into_iter().enumerate() {
            // SAFETY: the same as for `load`.
            unsafe { _mm512_storeu_si512(column.as_mut_ptr().add(v * WIDTH).cast(), value) };
        }
    };
    // SAFETY: pointers are words of 8 bytes.
    let data: [__m512i; N] =
        std::array::from_fn(|v| unsafe { _mm512_loadu_si512(walks.data.as_ptr().add(v * WIDTH).cast()) });
    // SAFETY: the table has 32 entries of 2 bytes.
    let table = unsafe { _mm512_loadu_si512(CONTROL.as_ptr().cast()) };
    let (end_bit, big_bits) = (load(&walks.end_bit), load(&walks.big_bits));
    let (mut bit, mut atom) = (load(&walks.bit), load(&walks.atom));
    let (mut run, mut index) = (load(&walks.run), load(&walks.small_index));
    let (one, seven, limit) = (set(1), set(7), set(wanted.limit));
    // Shuffle pattern that reverses the bytes of each word.
    let reversed = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
    let row = set(CHUNK as u64 + 1);
    let lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let first_place: [__m512i; N] =
        std::array::from_fn(|v| _mm512_mullo_epi64(_mm512_add_epi64(lanes, set((v * WIDTH) as u64)), row));
    let mut place = first_place;
    let (mut overrun, mut misled) = ([0u8; N], [0u8; N]);
    for _ in 0..CHUNK / STRIDE {
        if (0..N).all(|v| _mm512_cmplt_epu64_mask(atom[v], limit) == 0) {
            break;
        }
        for _ in 0..STRIDE {
            for v in 0..N {
                let live = _mm512_cmplt_epu64_mask(atom[v], limit);
                let flag = _mm512_add_epi64(bit[v], big_bits[v]);
                let address = _mm512_add_epi64(data[v], _mm512_srli_epi64::<3>(flag));
                // SAFETY: `bit` lies within the frame's bytes, because it moves only if `next` does not exceed
                // `end_bit`. A big coordinate has at most 96 bits, so the load ends at most 12 + 8 bytes after the
                // frame, within the margin.
                let word = unsafe {
                    _mm512_mask_i64gather_epi64::<1>(_mm512_setzero_si512(), live, address, std::ptr::null())
                };
                let word = _mm512_shuffle_epi8(word, reversed);
                let code = _mm512_srli_epi64::<58>(_mm512_sllv_epi64(word, _mm512_and_si512(flag, seven)));
                let flagged = _mm512_test_epi64_mask(code, set(32));
                let control = _mm512_permutexvar_epi16(_mm512_and_si512(code, set(31)), table);
                run[v] = _mm512_mask_and_epi64(run[v], flagged, control, set(15));
                let change = _mm512_and_si512(_mm512_srli_epi64::<4>(control), set(3));
                let change = _mm512_maskz_sub_epi64(flagged, change, one);
                let taken = _mm512_mask_blend_epi64(flagged, one, set(6));
                let next = _mm512_add_epi64(_mm512_add_epi64(flag, taken), _mm512_mul_epu32(run[v], index[v]));
                let fits = _mm512_mask_cmple_epu64_mask(live, next, end_bit[v]);
                let all = _mm512_sub_epi64(_mm512_sllv_epi64(set(2), run[v]), one);
                let mask = if ALL {
                    all
                } else {
                    // SAFETY: `bits` holds `limit / 8 + 16` bytes, and the atom of a live lane is less than `limit`.
                    let word = unsafe {
                        let at = _mm512_srli_epi64::<3>(atom[v]);
                        let bits = wanted.bits.as_ptr().cast();
                        _mm512_mask_i64gather_epi64::<1>(_mm512_setzero_si512(), live, at, bits)
                    };
                    _mm512_and_si512(_mm512_srlv_epi64(word, _mm512_and_si512(atom[v], seven)), all)
                };
                let kept = if ALL { fits } else { _mm512_mask_test_epi64_mask(fits, mask, mask) };
                let low = _mm512_or_si512(bit[v], _mm512_slli_epi64::<{ Group::INDEX }>(index[v]));
                let middle = _mm512_or_si512(
                    _mm512_slli_epi64::<{ Group::RUN }>(run[v]),
                    _mm512_slli_epi64::<{ Group::FLAG }>(_mm512_srli_epi64::<5>(code)),
                );
                let group = _mm512_or_si512(_mm512_or_si512(low, middle), _mm512_slli_epi64::<{ Group::WANTED }>(mask));
                // SAFETY: `place` grows by at most 1 per step, and there are `CHUNK` steps and `CHUNK + 1` places per
                // lane.
                unsafe { _mm512_mask_i64scatter_epi64::<8>(groups.lanes.as_mut_ptr().cast(), kept, place[v], group) };
                place[v] = _mm512_mask_add_epi64(place[v], kept, place[v], one);
                bit[v] = _mm512_mask_mov_epi64(bit[v], fits, next);
                atom[v] = _mm512_mask_add_epi64(atom[v], fits, atom[v], _mm512_add_epi64(run[v], one));
                index[v] = _mm512_mask_add_epi64(index[v], fits, index[v], change);
                let out_of_range = _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(index[v], set(9)), set(63));
                overrun[v] |= live & !fits;
                misled[v] |= fits & out_of_range;
                atom[v] = _mm512_mask_mov_epi64(atom[v], (live & !fits) | (fits & out_of_range), set(NOWHERE));
            }
        }
    }
    store(&mut walks.bit, bit);
    store(&mut walks.atom, atom);
    store(&mut walks.run, run);
    store(&mut walks.small_index, index);
    store(&mut groups.counts, std::array::from_fn(|v| _mm512_sub_epi64(place[v], first_place[v])));
    for (lane, end) in walks.end.iter_mut().enumerate().take(N * WIDTH) {
        let (v, bit) = (lane / WIDTH, lane % WIDTH);
        if (overrun[v] >> bit) & 1 == 1 {
            *end = End::Overrun;
        } else if (misled[v] >> bit) & 1 == 1 {
            *end = End::SmallIndex;
        }
    }
}
