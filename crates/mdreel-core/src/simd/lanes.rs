//! Eight numbers in vector registers, for computations that are written once for all instruction sets.

use super::totals::Totals;
use crate::frame::LANES;

/// Eight numbers for one vector load, aligned so that the load never crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(64))]
pub struct Octet(pub [f64; LANES]);

/// Eight float64 values in vector registers. Values exist only inside `Operation::run`, where the processor supports
/// the instructions.
pub trait Lanes: Copy {
    /// Eight int64 values in vector registers.
    type Totals: Totals;
    /// Whether the processor has 32 registers that hold eight numbers each.
    const IS_WIDE: bool = false;

    /// Sets every lane to `value`.
    fn splat(value: f64) -> Self;
    /// Loads eight float64 values.
    fn load(values: &Octet) -> Self;
    /// Loads eight float32 values and widens them to float64.
    fn widen(values: &[f32; LANES]) -> Self;
    /// Returns `self + other`.
    fn add(self, other: Self) -> Self;
    /// Returns `self - other`.
    fn sub(self, other: Self) -> Self;
    /// Returns `self * other`.
    fn mul(self, other: Self) -> Self;
    /// Returns `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Returns a bit mask of the lanes that are greater than those of `other`; the first lane is the lowest bit. A
    /// comparison with NaN gives 0.
    fn above(self, other: Self) -> u8;
    /// Returns the sum of the lanes: `((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))`. The order is that of
    /// repeatedly adding the two halves of a register.
    fn sum(self) -> f64;
}

/// A computation that is compiled once for every instruction set.
pub(crate) trait Operation {
    /// The result of the computation.
    type Output;

    /// Runs the computation. Mark this function, and every function that it calls per element, `#[inline(always)]`.
    /// Only code that is inlined into the entry point of an instruction set is compiled with its instructions. Other
    /// code gives the same bits, but slowly.
    fn run<L: Lanes>(self) -> Self::Output;
}
