//! Eight lanes as an array, for all other processors. Without fused multiply-add in hardware, it is correct but slow.

use super::lanes::{Lanes, Octet};
use crate::frame::LANES;

#[derive(Clone, Copy)]
pub(super) struct Portable([f64; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Portable(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Lanes for Portable {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Portable([value; LANES])
    }

    #[inline(always)]
    fn load(values: &Octet) -> Self {
        Portable(values.0)
    }

    #[inline(always)]
    fn widen(values: &[f32; LANES]) -> Self {
        Portable(values.map(f64::from))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Portable(std::array::from_fn(|i| self.0[i].mul_add(factor.0[i], addend.0[i])))
    }

    #[inline(always)]
    fn above(self, other: Self) -> u8 {
        (0..LANES).fold(0, |bits, i| bits | (u8::from(self.0[i] > other.0[i]) << i))
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let l = self.0;
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }
}
