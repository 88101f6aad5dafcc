//! Vector instructions, chosen at run time, with one order of summation for all of them.
//!
//! An `Operation` is written once in terms of [`Lanes`]: eight float64 values, stored in one register (AVX-512), two
//! (AVX2), four (NEON) or an array. Lane arithmetic rounds the same everywhere (IEEE 754, fused multiply-add), and
//! [`Lanes::sum`] adds the eight lanes in one fixed tree. The bits of a result therefore do not depend on the
//! processor. `docs/design/003-one-order-of-summation.md` describes the cost.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod lanes;
mod portable;
mod totals;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use lanes::Operation;
pub use lanes::{Lanes, Octet};
pub use totals::Totals;

/// An instruction set that this processor supports. The only way to obtain a level is to detect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Set {
    /// All instruction sets, from the narrowest to the widest.
    const ALL: &[Set] = &[
        Set::Portable,
        #[cfg(target_arch = "x86_64")]
        Set::Avx2,
        #[cfg(target_arch = "x86_64")]
        Set::Avx512,
        #[cfg(target_arch = "aarch64")]
        Set::Neon,
    ];

    fn is_here(self) -> bool {
        match self {
            Set::Portable => true,
            #[cfg(target_arch = "x86_64")]
            // Processors with AVX2 also have the other extensions, but a virtual machine may hide them.
            Set::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            // All AVX-512 extensions of server processors since 2017. AVX-512 F alone (Xeon Phi) is not sufficient.
            Set::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && Set::Avx2.is_here()
            }
            #[cfg(target_arch = "aarch64")]
            Set::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        }
    }
}

impl Level {
    /// Returns the widest instruction set of this processor.
    pub fn detect() -> Self {
        Level(Set::ALL.iter().copied().rfind(|set| set.is_here()).unwrap_or(Set::Portable))
    }

    /// Returns all instruction sets of this processor, the portable one first, for tests and benchmarks.
    pub fn available() -> Vec<Self> {
        Set::ALL.iter().copied().filter(|set| set.is_here()).map(Level).collect()
    }

    /// Returns whether AVX2, FMA, BMI1, BMI2, LZCNT and POPCNT may be used. Code that is written for these
    /// instructions, or compiled separately for them, needs this check.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "callers are for x86-64"))]
    pub(crate) fn is_avx2(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self.0, Set::Avx2 | Set::Avx512);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Returns whether AVX-512 F, BW, DQ and VL, and the instructions of `Self::is_avx2`, may be used. Code that is
    /// written only for these instructions needs this check.
    pub fn is_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Set::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Returns the name of the instruction set.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
        }
    }

    /// Runs `operation` with this instruction set.
    #[inline]
    pub(crate) fn run<O: Operation>(self, operation: O) -> O::Output {
        match self.0 {
            Set::Portable => operation.run::<portable::Portable>(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level exists only if the processor was found to support its instructions.
            Set::Avx2 => unsafe { x86_64::run_avx2(operation) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Set::Avx512 => unsafe { x86_64::run_avx512(operation) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Set::Neon => unsafe { aarch64::run_neon(operation) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LANES;

    struct Chain<'a> {
        values: &'a [[f32; LANES]],
        factors: &'a [Octet],
    }

    impl Operation for Chain<'_> {
        type Output = [u64; 2];

        #[inline(always)]
        fn run<L: Lanes>(self) -> [u64; 2] {
            let (mut total, mut other) = (L::splat(0.1), L::splat(1.0 / 3.0));
            for (values, factors) in self.values.iter().zip(self.factors) {
                total = L::widen(values).sub(other).mul_add(L::load(factors), total);
                other = other.mul(L::load(factors)).add(L::splat(0.7));
            }
            [total.sum().to_bits(), other.sum().to_bits()]
        }
    }

    #[test]
    fn test_level_gives_identical_bits_for_every_instruction_set() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let values: Vec<[f32; LANES]> = (0..99).map(|_| std::array::from_fn(|_| 50.0 * next() as f32)).collect();
        let factors: Vec<Octet> = (0..99).map(|_| Octet(std::array::from_fn(|_| next()))).collect();
        let expected = Level::available()[0].run(Chain { values: &values, factors: &factors });
        for level in Level::available() {
            assert_eq!(level.run(Chain { values: &values, factors: &factors }), expected, "{}", level.name());
        }
    }

    #[test]
    fn test_above_says_which_lanes_are() {
        struct Above(Octet, Octet);
        impl Operation for Above {
            type Output = u8;
            fn run<L: Lanes>(self) -> u8 {
                L::load(&self.0).above(L::load(&self.1))
            }
        }
        let values = [1.0, 2.0, f64::NAN, 0.0, f64::INFINITY, -1.0, 3.0, 5.0];
        let others = [0.5, 2.0, 0.0, -0.0, 1e300, f64::NEG_INFINITY, f64::NAN, 4.0];
        for level in Level::available() {
            assert_eq!(level.run(Above(Octet(values), Octet(others))), 0b1011_0001, "{}", level.name());
        }
    }

    #[test]
    fn test_sum_adds_in_the_documented_tree() {
        struct Sum(Octet);
        impl Operation for Sum {
            type Output = f64;
            fn run<L: Lanes>(self) -> f64 {
                L::load(&self.0).sum()
            }
        }
        let l = [1e16, 1.0, -1e16, 3.0, 1.0, 1e-9, 1.0, 1e8];
        let expected = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
        for level in Level::available() {
            assert_eq!(level.run(Sum(Octet(l))).to_bits(), expected.to_bits(), "{}", level.name());
        }
    }
}
