//! Eight int64 in vector registers, to which products of int32 are added.

use crate::frame::LANES;

/// Eight int64 in vector registers. Values exist only inside `Operation::run`, where the instructions are there.
pub trait Totals: Copy {
    /// Eight int32, as the registers need them for products.
    type Steps: Copy;

    /// Zero in every lane.
    fn zero() -> Self;
    /// Eight int32.
    fn steps(steps: &[i32; LANES]) -> Self::Steps;
    /// `self + of * with` in every lane. The product is exact; the sum wraps around.
    fn add_products(self, of: i32, with: Self::Steps) -> Self;
    /// The lanes.
    fn store(self) -> [i64; LANES];
}
