//! Eight lanes in registers of AVX2 with FMA, and of AVX-512.

use std::arch::x86_64::*;

use super::lanes::{Lanes, Octet, Operation};
use super::totals::Totals;
use crate::frame::LANES;

#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<O: Operation>(operation: O) -> O::Output {
    operation.run::<Avx2>()
}

#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) fn run_avx512<O: Operation>(operation: O) -> O::Output {
    operation.run::<Avx512>()
}

/// Two registers with lanes 0 to 3 and 4 to 7.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d, __m256d);

#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

// Safety of all unsafe blocks below: values of these types exist only under `run_avx2` and `run_avx512`, which run only
// if the processor supports the instructions. Every load reads exactly the array behind the reference.

/// Returns `(l0 + l2) + (l1 + l3)`.
#[inline(always)]
fn sum_of_four(lanes: __m256d) -> f64 {
    // SAFETY: see above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

/// Two registers with lanes 0 to 3 and 4 to 7.
#[derive(Clone, Copy)]
pub(super) struct Avx2Totals(__m256i, __m256i);

impl Totals for Avx2Totals {
    /// One int32 in each 64 bits.
    type Steps = (__m256i, __m256i);

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Avx2Totals(_mm256_setzero_si256(), _mm256_setzero_si256()) }
    }

    #[inline(always)]
    fn steps(steps: &[i32; LANES]) -> Self::Steps {
        let start: *const __m128i = steps.as_ptr().cast();
        // SAFETY: see above.
        unsafe { (_mm256_cvtepi32_epi64(_mm_loadu_si128(start)), _mm256_cvtepi32_epi64(_mm_loadu_si128(start.add(1)))) }
    }

    #[inline(always)]
    fn add_products(self, of: i32, with: Self::Steps) -> Self {
        // SAFETY: see above. The multiplication reads the lower half of each 64 bits.
        unsafe {
            let of = _mm256_set1_epi32(of);
            Avx2Totals(
                _mm256_add_epi64(self.0, _mm256_mul_epi32(of, with.0)),
                _mm256_add_epi64(self.1, _mm256_mul_epi32(of, with.1)),
            )
        }
    }

    #[inline(always)]
    fn store(self) -> [i64; LANES] {
        let mut lanes = [0; LANES];
        let start: *mut __m256i = lanes.as_mut_ptr().cast();
        // SAFETY: see above; both stores fill the array.
        unsafe {
            _mm256_storeu_si256(start, self.0);
            _mm256_storeu_si256(start.add(1), self.1);
        }
        lanes
    }
}

#[derive(Clone, Copy)]
pub(super) struct Avx512Totals(__m512i);

impl Totals for Avx512Totals {
    /// One int32 in each 64 bits.
    type Steps = __m512i;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: see above.
        unsafe { Avx512Totals(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    fn steps(steps: &[i32; LANES]) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_cvtepi32_epi64(_mm256_loadu_si256(steps.as_ptr().cast())) }
    }

    #[inline(always)]
    fn add_products(self, of: i32, with: __m512i) -> Self {
        // SAFETY: see above. The multiplication reads the lower half of each 64 bits.
        unsafe { Avx512Totals(_mm512_add_epi64(self.0, _mm512_mul_epi32(_mm512_set1_epi32(of), with))) }
    }

    #[inline(always)]
    fn store(self) -> [i64; LANES] {
        let mut lanes = [0; LANES];
        // SAFETY: see above; the store fills the array.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self.0) };
        lanes
    }
}

impl Lanes for Avx2 {
    type Totals = Avx2Totals;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_set1_pd(value), _mm256_set1_pd(value)) }
    }

    #[inline(always)]
    fn load(values: &Octet) -> Self {
        let start = values.0.as_ptr();
        // SAFETY: see above.
        unsafe { Avx2(_mm256_load_pd(start), _mm256_load_pd(start.add(4))) }
    }

    #[inline(always)]
    fn widen(values: &[f32; LANES]) -> Self {
        let start = values.as_ptr();
        // SAFETY: see above.
        unsafe { Avx2(_mm256_cvtps_pd(_mm_loadu_ps(start)), _mm256_cvtps_pd(_mm_loadu_ps(start.add(4)))) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_add_pd(self.0, other.0), _mm256_add_pd(self.1, other.1)) }
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_sub_pd(self.0, other.0), _mm256_sub_pd(self.1, other.1)) }
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_mul_pd(self.0, other.0), _mm256_mul_pd(self.1, other.1)) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx2(_mm256_fmadd_pd(self.0, factor.0, addend.0), _mm256_fmadd_pd(self.1, factor.1, addend.1)) }
    }

    #[inline(always)]
    fn above(self, other: Self) -> u8 {
        // SAFETY: see above.
        unsafe {
            let low = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(self.0, other.0));
            let high = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(self.1, other.1));
            (low | (high << 4)) as u8
        }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: see above.
        unsafe { sum_of_four(_mm256_add_pd(self.0, self.1)) }
    }
}

impl Lanes for Avx512 {
    type Totals = Avx512Totals;
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_set1_pd(value)) }
    }

    #[inline(always)]
    fn load(values: &Octet) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_load_pd(values.0.as_ptr())) }
    }

    #[inline(always)]
    fn widen(values: &[f32; LANES]) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_cvtps_pd(_mm256_loadu_ps(values.as_ptr()))) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_add_pd(self.0, other.0)) }
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_sub_pd(self.0, other.0)) }
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_mul_pd(self.0, other.0)) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see above.
        unsafe { Avx512(_mm512_fmadd_pd(self.0, factor.0, addend.0)) }
    }

    #[inline(always)]
    fn above(self, other: Self) -> u8 {
        // SAFETY: see above.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: see above.
        unsafe { sum_of_four(_mm256_add_pd(_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0))) }
    }
}
