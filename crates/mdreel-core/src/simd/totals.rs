//! Eight int64 accumulators in vector registers for products of int32 values.

use crate::frame::LANES;

/// Eight int64 values in vector registers. Values exist only inside `Operation::run`, where the processor supports the
/// instructions.
pub trait Totals: Copy {
    /// Eight int32 values in the register layout for products.
    type Steps: Copy;

    /// Sets every lane to zero.
    fn zero() -> Self;
    /// Loads eight int32 values.
    fn steps(steps: &[i32; LANES]) -> Self::Steps;
    /// Returns `self + of * with` in every lane. The product is exact; the sum wraps around.
    fn add_products(self, of: i32, with: Self::Steps) -> Self;
    /// Returns the lanes.
    fn store(self) -> [i64; LANES];
}
