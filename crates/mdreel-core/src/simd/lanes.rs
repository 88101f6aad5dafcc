//! Eight numbers in vector registers, and computations that are written once for all of them.

use super::totals::Totals;
use crate::frame::LANES;

/// Eight numbers that one vector load takes, aligned so that the load never straddles two cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(64))]
pub struct Octet(pub [f64; LANES]);

/// Eight float64 in vector registers. Values exist only inside `Operation::run`, where the instructions are there.
pub trait Lanes: Copy {
    /// Eight int64 in vector registers.
    type Totals: Totals;
    /// Whether the processor has 32 registers that hold eight numbers each.
    const IS_WIDE: bool = false;

    /// `value` in every lane.
    fn splat(value: f64) -> Self;
    /// Eight float64.
    fn load(values: &Octet) -> Self;
    /// Eight float32, widened.
    fn widen(values: &[f32; LANES]) -> Self;
    /// `self + other`.
    fn add(self, other: Self) -> Self;
    /// `self - other`.
    fn sub(self, other: Self) -> Self;
    /// `self * other`.
    fn mul(self, other: Self) -> Self;
    /// `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Which lanes are above those of `other`, a bit for each, the first one lowest. None is where one is not a number.
    fn above(self, other: Self) -> u8;
    /// The sum of the lanes: `((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))`, the tree in which halving a
    /// register adds.
    fn sum(self) -> f64;
}

/// A computation that is compiled once for every instruction set.
pub(crate) trait Operation {
    /// What it gives.
    type Output;

    /// The computation. Mark it and all that it calls per element `#[inline(always)]`: only what is inlined into
    /// the entry of an instruction set is compiled with its instructions; the rest gives the same bits, slowly.
    fn run<L: Lanes>(self) -> Self::Output;
}
