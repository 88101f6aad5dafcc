//! Sums that do not depend on the order of the additions.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Number of bits after the binary point.
const FRACTION: u32 = 60;
/// A constant for rounding. Adding it to a float64 below 2^51 and subtracting its bits from the bits of the sum gives
/// the nearest integer.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// A sum of float64 values in fixed point, in steps of 2^-60. Each number is rounded to a step once, when it is added.
/// The steps add up exactly, up to 1.4e20. The bits of the sum therefore do not depend on the blocks or on the order of
/// the frames. See `docs/design/008-exact-sums.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum(i128);

impl Sum {
    /// The largest number that may be added, 2^36. A sum can hold two thousand million such numbers.
    pub const MOST: f64 = (1u64 << 36) as f64;

    /// Returns the sum of one number, which must be finite and at most [`Sum::MOST`] in magnitude.
    #[inline]
    pub fn of(value: f64) -> Self {
        debug_assert!(value.abs() <= Sum::MOST, "{value}");
        Sum((value * (1u64 << FRACTION) as f64).round_ties_even() as i128)
    }

    /// Returns the sum of `steps` steps of 2^-`fraction`, where `fraction` is at most 60.
    #[inline]
    pub(crate) fn of_steps(steps: i64, fraction: u32) -> Self {
        debug_assert!(fraction <= FRACTION);
        Sum(i128::from(steps) << (FRACTION - fraction))
    }

    /// Returns the sum of more steps than fit in 64 bits. Their sum must be at most [`Sum::MOST`].
    #[inline]
    pub(crate) fn of_wide_steps(steps: i128, fraction: u32) -> Self {
        debug_assert!(fraction <= FRACTION);
        Sum(steps << (FRACTION - fraction))
    }

    /// Returns the number of steps of 2^-`fraction` that is nearest to a number. The result must be below 2^51.
    /// Compilers vectorize this function, but not [`Sum::of`].
    #[inline(always)]
    pub(crate) fn steps(value: f64, fraction: u32) -> i64 {
        let scaled = value * (1u64 << fraction) as f64;
        ((scaled + MAGIC).to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64)
    }

    /// Returns the sum, rounded once.
    pub fn value(self) -> f64 {
        self.0 as f64 / (1u64 << FRACTION) as f64
    }
}

impl AddAssign for Sum {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sum_is_the_same_in_any_order(mut values in prop::collection::vec(-1e6f64..1e6, 0..200), seed in any::<u64>()) {
            let add_up = |values: &[f64]| values.iter().fold(Sum::default(), |mut sum, &value| { sum += Sum::of(value); sum });
            let whole = add_up(&values);
            let n = values.len().max(1);
            values.rotate_left(seed as usize % n);
            values.reverse();
            prop_assert_eq!(add_up(&values), whole);
            let (left, right) = values.split_at(seed as usize % n % (values.len() + 1));
            let mut both = add_up(left);
            both += add_up(right);
            prop_assert_eq!(both, whole);
        }

        #[test]
        fn number_that_has_no_finer_bits_is_added_exactly(value in any::<f32>()) {
            prop_assume!(value.is_finite() && f64::from(value).abs() <= Sum::MOST);
            let steps = f64::from(value) * (1u64 << FRACTION) as f64;
            prop_assume!(steps.fract() == 0.0);
            prop_assert_eq!(Sum::of(f64::from(value)).value(), f64::from(value));
        }

        #[test]
        fn steps_are_fractions(steps in -(1i64 << 50)..1i64 << 50, fraction in 0u32..=60) {
            let value = steps as f64 / (1u64 << fraction) as f64;
            prop_assume!(value.abs() <= Sum::MOST);
            prop_assert_eq!(Sum::of_steps(steps, fraction), Sum::of(value));
            prop_assert_eq!(Sum::steps(value, fraction), steps);
        }
    }
}
