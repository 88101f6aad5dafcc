//! AVX2 with FMA, and AVX-512.

use std::arch::x86_64::*;

use super::lanes::{Lanes, Octet, Operation};
use crate::frame::LANES;

#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<O: Operation>(operation: O) -> O::Output {
    operation.run::<Avx2>()
}

#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) fn run_avx512<O: Operation>(operation: O) -> O::Output {
    operation.run::<Avx512>()
}

/// Lanes 0 to 3 and 4 to 7.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d, __m256d);

#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

// In all that follows: values of these types are made only under `run_avx2` and `run_avx512`, which run only where the
// processor has the instructions, and every load reads the whole of the array behind the reference.

/// `(l0 + l2) + (l1 + l3)`.
#[inline(always)]
fn sum_of_four(lanes: __m256d) -> f64 {
    // SAFETY: see above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

impl Lanes for Avx2 {
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
