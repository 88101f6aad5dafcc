//! Unpacking of packed numbers, eight at a time.
//!
//! Instead of dividing, the code multiplies in float64 by reciprocals that are rounded up. Such a product exceeds the
//! quotient by less than `value * 2^-50 / divisor`. For `value < 2^50`, this is less than the distance between any
//! quotient and the next integer, so the product rounded down is the integer quotient. The addition of [`MAGIC`] rounds
//! down, because float64 numbers of its size are integers.

use std::arch::x86_64::*;

/// `1.5 * 2^52`.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Number of values unpacked, and of entries listed, at a time.
pub(crate) const WIDTH: usize = 8;

/// Returns the reciprocal of `divisor`, rounded up.
pub(crate) const fn reciprocal(divisor: f64) -> f64 {
    (1.0 / divisor).next_up()
}

/// Rounding mode that rounds up.
pub(crate) const UP: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
/// Rounding mode that rounds down.
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

/// Returns the quotient of `value`, given the reciprocal of the divisor, plus [`MAGIC`].
#[target_feature(enable = "avx512f")]
fn divide(value: __m512d, reciprocal: __m512d) -> __m512d {
    _mm512_fmadd_round_pd::<DOWN>(value, reciprocal, _mm512_set1_pd(MAGIC))
}

/// Loads eight numbers of `width` bits that start at `bits` of `bytes`. Lanes whose mask bit is not set are zero.
///
/// # Safety
/// Eight bytes must be readable from each byte in which a number starts.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(crate) unsafe fn load_numbers(bytes: *const u8, bits: __m512i, width: __m512i, mask: u8) -> __m512d {
    let reversed = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
    let seven = _mm512_set1_epi64(7);
    let zero = _mm512_setzero_si512();
    // SAFETY: the caller guarantees that these bytes are readable.
    let word = unsafe { _mm512_mask_i64gather_epi64::<1>(zero, mask, _mm512_srli_epi64::<3>(bits), bytes.cast()) };
    let top = _mm512_sllv_epi64(_mm512_shuffle_epi8(word, reversed), _mm512_and_si512(bits, seven));
    // The whole bytes come least significant first. The bits after them are the most significant ones.
    let rest = _mm512_and_si512(width, seven);
    let whole = _mm512_sub_epi64(width, rest);
    let above = _mm512_sllv_epi64(_mm512_set1_epi64(-1), whole);
    let low = _mm512_andnot_si512(above, _mm512_shuffle_epi8(top, reversed));
    let high = _mm512_srlv_epi64(_mm512_sllv_epi64(top, whole), _mm512_sub_epi64(_mm512_set1_epi64(64), rest));
    _mm512_cvtepu64_pd(_mm512_or_si512(low, _mm512_sllv_epi64(high, whole)))
}

/// Returns the three components of eight mixed-radix numbers, each plus [`MAGIC`].
#[target_feature(enable = "avx512f")]
pub(super) fn split(value: __m512d, size_yz: __m512d, by_yz: __m512d, size_z: __m512d, by_z: __m512d) -> [__m512d; 3] {
    let magic = _mm512_set1_pd(MAGIC);
    let x = divide(value, by_yz);
    let yz = _mm512_fnmadd_pd(_mm512_sub_pd(x, magic), size_yz, value);
    let y = divide(yz, by_z);
    let z = _mm512_fnmadd_pd(_mm512_sub_pd(y, magic), size_z, yz);
    [x, y, _mm512_add_pd(z, magic)]
}

/// Converts the columns that [`split`] returned to rows of four 32-bit integers: first the rows of the even lanes, then
/// those of the odd lanes. An integer added to [`MAGIC`] occupies the lower half of the float64.
#[target_feature(enable = "avx512f")]
pub(crate) fn rows([x, y, z]: [__m512d; 3]) -> [__m512i; 2] {
    let [x, y, z] = [_mm512_castpd_si512(x), _mm512_castpd_si512(y), _mm512_castpd_si512(z)];
    // Move the lower halves of y into the upper halves of x.
    let xy = _mm512_mask_shuffle_epi32::<0b10_10_00_00>(x, 0xaaaa, y);
    let z = _mm512_maskz_mov_epi32(0x5555, z);
    [_mm512_unpacklo_epi64(xy, z), _mm512_unpackhi_epi64(xy, z)]
}

/// Returns the sums of the first row, the first two rows, and so on, each with `before` added.
#[target_feature(enable = "avx512f")]
pub(crate) fn running_sums(rows: __m512i, before: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let two = _mm512_add_epi32(rows, _mm512_alignr_epi64::<6>(rows, zero));
    let four = _mm512_add_epi32(two, _mm512_alignr_epi64::<4>(two, zero));
    _mm512_add_epi32(four, before)
}

/// Returns the last of four rows, four times.
#[target_feature(enable = "avx512f")]
pub(crate) fn last_row(rows: __m512i) -> __m512i {
    _mm512_shuffle_i32x4::<0xff>(rows, rows)
}

/// Returns the four rows separately.
#[target_feature(enable = "avx512f")]
pub(crate) fn each_row(rows: __m512i) -> [__m128i; 4] {
    [
        _mm512_castsi512_si128(rows),
        _mm512_extracti32x4_epi32::<1>(rows),
        _mm512_extracti32x4_epi32::<2>(rows),
        _mm512_extracti32x4_epi32::<3>(rows),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use crate::source::xtc::gather::numbers::MAX_BITS;
    use crate::source::xtc::radix::SMALL_RADICES;

    /// Divides `dividend` by one divisor.
    ///
    /// # Safety
    /// The processor must have AVX-512 F.
    #[target_feature(enable = "avx512f")]
    unsafe fn quotient(dividend: u64, reciprocal: __m512d) -> u64 {
        (_mm512_cvtsd_f64(divide(_mm512_set1_pd(dividend as f64), reciprocal)) - MAGIC) as u64
    }

    /// # Safety
    /// The same as for `quotient`.
    #[target_feature(enable = "avx512f")]
    unsafe fn check(divisor: u64, reciprocal: __m512d) {
        let most = (1 << MAX_BITS) - 1;
        let largest = most / divisor;
        for multiple in [0, 1, 2, largest / 2, largest.saturating_sub(1), largest].map(|quotient| quotient * divisor) {
            for dividend in [multiple.saturating_sub(1), multiple, (multiple + 1).min(most), most] {
                // SAFETY: the caller guarantees that the processor has AVX-512 F.
                assert_eq!(unsafe { quotient(dividend, reciprocal) }, dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }

    /// # Safety
    /// The same as for `quotient`.
    #[target_feature(enable = "avx512f")]
    unsafe fn check_all() {
        for radix in SMALL_RADICES[9..=MAX_BITS as usize].iter().map(|&radix| f64::from(radix)) {
            let inverse = _mm512_set1_pd(reciprocal(radix));
            // SAFETY: the caller guarantees that the processor has AVX-512 F.
            unsafe {
                check(radix as u64, inverse);
                check((radix * radix) as u64, _mm512_mul_round_pd::<UP>(inverse, inverse));
            }
        }
        for size in (1u64..1 << 24).step_by(7) {
            for divisor in [size, size * ((1 << 24) - size % 1000)] {
                // SAFETY: the caller guarantees that the processor has AVX-512 F.
                unsafe { check(divisor, _mm512_set1_pd(reciprocal(divisor as f64))) };
            }
        }
    }

    #[test]
    fn quotients_are_exact_for_every_radix() {
        if Level::detect().is_avx512() {
            // SAFETY: the processor has AVX-512.
            unsafe { check_all() };
        }
    }
}
