//! Eight lanes as an array, for all other processors. Without fused multiply-add in hardware, this implementation is
//! correct but slow.

use super::lanes::{Lanes, Octet};
use super::totals::Totals;
use crate::frame::LANES;

#[derive(Clone, Copy)]
pub(super) struct Portable([f64; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Portable(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

#[derive(Clone, Copy)]
pub(super) struct PortableTotals([i64; LANES]);

impl Totals for PortableTotals {
    type Steps = [i32; LANES];

    #[inline(always)]
    fn zero() -> Self {
        PortableTotals([0; LANES])
    }

    #[inline(always)]
    fn steps(steps: &[i32; LANES]) -> [i32; LANES] {
        *steps
    }

    #[inline(always)]
    fn add_products(self, of: i32, with: [i32; LANES]) -> Self {
        PortableTotals(std::array::from_fn(|i| self.0[i].wrapping_add(i64::from(of) * i64::from(with[i]))))
    }

    #[inline(always)]
    fn store(self) -> [i64; LANES] {
        self.0
    }
}

impl Lanes for Portable {
    type Totals = PortableTotals;

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
