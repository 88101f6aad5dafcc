//! Eight lanes in NEON registers.

use std::arch::aarch64::*;

use super::lanes::{Lanes, Octet, Operation};
use super::totals::Totals;
use crate::frame::LANES;

#[target_feature(enable = "neon")]
pub(super) fn run_neon<O: Operation>(operation: O) -> O::Output {
    operation.run::<Neon>()
}

/// Four registers with lanes 0 and 1, 2 and 3, 4 and 5, and 6 and 7.
#[derive(Clone, Copy)]
pub(super) struct Neon([float64x2_t; 4]);

// Safety of all unsafe blocks below: values of these types exist only under `run_neon`, which runs only if the
// processor supports the instructions. Every load reads exactly the array behind the reference.

impl Neon {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(float64x2_t, float64x2_t) -> float64x2_t) -> Self {
        Neon(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

/// Four registers with lanes 0 and 1, 2 and 3, 4 and 5, and 6 and 7.
#[derive(Clone, Copy)]
pub(super) struct NeonTotals([int64x2_t; 4]);

impl Totals for NeonTotals {
    type Steps = [int32x4_t; 2];

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: see above.
        unsafe { NeonTotals([vdupq_n_s64(0); 4]) }
    }

    #[inline(always)]
    fn steps(steps: &[i32; LANES]) -> Self::Steps {
        // SAFETY: see above.
        unsafe { [vld1q_s32(steps.as_ptr()), vld1q_s32(steps.as_ptr().add(4))] }
    }

    #[inline(always)]
    fn add_products(self, of: i32, [low, high]: Self::Steps) -> Self {
        let l = self.0;
        // SAFETY: see above.
        unsafe {
            NeonTotals([
                vmlal_n_s32(l[0], vget_low_s32(low), of),
                vmlal_high_n_s32(l[1], low, of),
                vmlal_n_s32(l[2], vget_low_s32(high), of),
                vmlal_high_n_s32(l[3], high, of),
            ])
        }
    }

    #[inline(always)]
    fn store(self) -> [i64; LANES] {
        let mut lanes = [0; LANES];
        for (i, pair) in self.0.into_iter().enumerate() {
            // SAFETY: see above; the four stores fill the array.
            unsafe { vst1q_s64(lanes.as_mut_ptr().add(2 * i), pair) };
        }
        lanes
    }
}

impl Lanes for Neon {
    type Totals = NeonTotals;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: see above.
        unsafe { Neon([vdupq_n_f64(value); 4]) }
    }

    #[inline(always)]
    fn load(values: &Octet) -> Self {
        // SAFETY: see above.
        Neon(std::array::from_fn(|i| unsafe { vld1q_f64(values.0.as_ptr().add(2 * i)) }))
    }

    #[inline(always)]
    fn widen(values: &[f32; LANES]) -> Self {
        // SAFETY: see above.
        unsafe {
            let (low, high) = (vld1q_f32(values.as_ptr()), vld1q_f32(values.as_ptr().add(4)));
            Neon([
                vcvt_f64_f32(vget_low_f32(low)),
                vcvt_high_f64_f32(low),
                vcvt_f64_f32(vget_low_f32(high)),
                vcvt_high_f64_f32(high),
            ])
        }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        self.zip(other, |a, b| unsafe { vaddq_f64(a, b) })
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: see above.
        self.zip(other, |a, b| unsafe { vsubq_f64(a, b) })
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see above.
        self.zip(other, |a, b| unsafe { vmulq_f64(a, b) })
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see above.
        Neon(std::array::from_fn(|i| unsafe { vfmaq_f64(addend.0[i], self.0[i], factor.0[i]) }))
    }

    #[inline(always)]
    fn above(self, other: Self) -> u8 {
        let pairs = (0..4).map(|i| {
            // SAFETY: see above.
            let above = unsafe { vcgtq_f64(self.0[i], other.0[i]) };
            // SAFETY: see above.
            let [first, second] = unsafe { [vgetq_lane_u64::<0>(above), vgetq_lane_u64::<1>(above)] };
            (((first & 1) | (second & 2)) as u8) << (2 * i)
        });
        pairs.fold(0, |bits, pair| bits | pair)
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let l = self.0;
        // SAFETY: see above.
        unsafe {
            let pair = vaddq_f64(vaddq_f64(l[0], l[2]), vaddq_f64(l[1], l[3]));
            vgetq_lane_f64::<0>(pair) + vgetq_lane_f64::<1>(pair)
        }
    }
}
