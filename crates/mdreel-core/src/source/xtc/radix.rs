//! Mixed-radix numbers, which pack three components into one number of `bits` bits.
//!
//! The number is stored byte by byte, with the least significant byte first and its last `bits % 8` bits at the end.
//! Its value is `(x * size_y + y) * size_z + z`. Splitting it requires two divisions, which are computed as
//! multiplications by reciprocals. The results are exact (Granlund & Montgomery 1994, theorem 4.2, and `tests` below).

pub(crate) use crate::xtc_tables::{MAX_PACKED_SIZE, SMALL_INDICES, SMALL_RADICES, packed_bits};

/// Maximum width of a number that is always contained in one 64-bit load, for any first bit.
pub(crate) const MAX_WORD_BITS: u32 = 57;

/// Loads the 64 bits that start at `bit` of `bytes`, with the first bit at the top. Up to 7 of the last bits are zero.
///
/// # Safety
/// `bytes + bit / 8` must be readable for 8 bytes.
#[inline(always)]
pub(crate) unsafe fn load_bits(bytes: *const u8, bit: u64) -> u64 {
    // SAFETY: the caller guarantees that the 8 bytes are readable.
    let word = unsafe { bytes.add((bit >> 3) as usize).cast::<u64>().read_unaligned() };
    u64::from_be(word) << (bit & 7)
}

/// Exact division of numbers below `2^bits` by a fixed divisor of at least 2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reciprocal {
    multiplier: u64,
    shift: u32,
}

impl Reciprocal {
    /// Creates the reciprocal of `divisor >= 2` for dividends below `2^bits`, with `bits <= 63`.
    pub(crate) const fn new(divisor: u64, bits: u32) -> Self {
        debug_assert!(divisor >= 2 && bits <= 63);
        let log = 64 - (divisor - 1).leading_zeros();
        let shift = if bits + log > 64 { bits + log } else { 64 };
        // `multiplier * divisor` exceeds `2^shift` by less than the divisor, and therefore by less than `2^log`. For
        // any dividend below `2^bits`, the quotient is too large by less than `2^(bits + log - shift) / divisor`, which
        // is at most `1 / divisor`.
        let multiplier = (1u128 << shift).div_ceil(divisor as u128);
        Reciprocal { multiplier: multiplier as u64, shift: shift - 64 }
    }

    /// Returns the quotient of `dividend` and the divisor.
    #[inline(always)]
    pub(crate) fn divide(self, dividend: u64) -> u64 {
        ((u128::from(dividend) * u128::from(self.multiplier)) >> 64) as u64 >> self.shift
    }
}

/// Constants for splitting a mixed-radix number of at most [`MAX_WORD_BITS`] bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Radix {
    /// Number of bits in whole bytes.
    whole: u32,
    /// 63 minus the number of bits after the whole bytes.
    rest: u32,
    /// Mask of the whole bytes.
    mask: u64,
    size_z: u64,
    size_yz: u64,
    by_z: Reciprocal,
    by_yz: Reciprocal,
}

impl Radix {
    /// Creates the constants for components below `sizes`, packed into `bits` bits. Returns `None` if the number is too
    /// wide for one load, or if a size of 1 requires a division by 1, which has no reciprocal. Use [`unpack_wide`] in
    /// these cases.
    pub(crate) const fn new(sizes: [u32; 3], bits: u32) -> Option<Self> {
        let (size_z, size_yz) = (sizes[2] as u64, sizes[1] as u64 * sizes[2] as u64);
        if bits > MAX_WORD_BITS || bits == 0 || size_z < 2 {
            return None;
        }
        let whole = bits & !7;
        Some(Radix {
            whole,
            rest: 63 - (bits & 7),
            mask: (1 << whole) - 1,
            size_z,
            size_yz,
            by_z: Reciprocal::new(size_z, bits),
            by_yz: Reciprocal::new(size_yz, bits),
        })
    }

    /// Returns the three components of the number at `bit`.
    ///
    /// # Safety
    /// `bytes + bit / 8` must be readable for 8 bytes.
    #[inline(always)]
    pub(crate) unsafe fn unpack(&self, bytes: *const u8, bit: u64) -> [i32; 3] {
        // SAFETY: the caller guarantees that the 8 bytes are readable.
        let word = unsafe { load_bits(bytes, bit) };
        let value = (word.swap_bytes() & self.mask) | ((((word << self.whole) >> 1) >> self.rest) << self.whole);
        let x = self.by_yz.divide(value);
        let yz = value.wrapping_sub(x.wrapping_mul(self.size_yz));
        let y = self.by_z.divide(yz);
        let z = yz.wrapping_sub(y.wrapping_mul(self.size_z));
        [x as i32, y as i32, z as i32]
    }
}

/// Returns the three components of a mixed-radix number of up to 72 bits, with any sizes. This function is slow. Use it
/// only if [`Radix`] cannot be used.
///
/// # Safety
/// `bytes + bit / 8` must be readable for 16 bytes.
pub(crate) unsafe fn unpack_wide(bytes: *const u8, bit: u64, sizes: [u32; 3], bits: u32) -> [i32; 3] {
    // SAFETY: the caller guarantees that the 16 bytes are readable.
    let word = unsafe { bytes.add((bit >> 3) as usize).cast::<u128>().read_unaligned() };
    let word = u128::from_be(word) << (bit & 7);
    let whole = bits & !7;
    let rest = bits & 7;
    let low = word.swap_bytes() & ((1 << whole) - 1);
    let high = if rest == 0 { 0 } else { (word << whole) >> (128 - rest) << whole };
    let value = low | high;
    let (size_y, size_z) = (u128::from(sizes[1]), u128::from(sizes[2]));
    [(value / (size_y * size_z)) as i32, (value / size_z % size_y) as i32, (value % size_z) as i32]
}

/// Returns a field of `bits <= 32` bits at `bit`, with the first bit at the top. The big coordinates of very wide boxes
/// consist of such fields.
///
/// # Safety
/// `bytes + bit / 8` must be readable for 8 bytes.
#[inline(always)]
pub(crate) unsafe fn unpack_field(bytes: *const u8, bit: u64, bits: u32) -> i32 {
    if bits == 0 {
        return 0;
    }
    // SAFETY: the caller guarantees that the 8 bytes are readable.
    (unsafe { load_bits(bytes, bit) } >> (64 - bits)) as i32
}

/// Constants of the small coordinates of one index, which are differences to the previous atom, offset by half the
/// radix.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Small {
    /// Constants for splitting small coordinates; all zero for indices wider than one load.
    pub radix: Radix,
    /// Half the radix, rounded down.
    pub half: i32,
}

/// Constants of all small indices. The table is longer than needed, so an index stored in a byte needs no bounds check.
pub(crate) static SMALL: [Small; 256] = {
    let mut table = [Small {
        radix: Radix {
            whole: 0,
            rest: 63,
            mask: 0,
            size_z: 0,
            size_yz: 0,
            by_z: Reciprocal { multiplier: 0, shift: 0 },
            by_yz: Reciprocal { multiplier: 0, shift: 0 },
        },
        half: 0,
    }; 256];
    let mut index = *SMALL_INDICES.start();
    while index <= *SMALL_INDICES.end() {
        let size = SMALL_RADICES[index as usize];
        if let Some(radix) = Radix::new([size; 3], index) {
            table[index as usize].radix = radix;
        }
        table[index as usize].half = (size / 2) as i32;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the dividends at which an inexact reciprocal would fail first: those around multiples of the divisor. The
    /// largest multiples matter most, because the error of the quotient grows with the dividend.
    fn check_division(divisor: u64, bits: u32) {
        let reciprocal = Reciprocal::new(divisor, bits);
        let most = (1u64 << bits) - 1;
        let largest = most / divisor;
        for quotient in [0, 1, 2, largest / 2, largest.saturating_sub(1), largest] {
            let multiple = quotient * divisor;
            for dividend in [multiple.saturating_sub(1), multiple, multiple + 1, most] {
                if dividend <= most {
                    assert_eq!(reciprocal.divide(dividend), dividend / divisor, "{dividend} / {divisor}, {bits} bits");
                }
            }
        }
    }

    #[test]
    fn reciprocals_divide_exactly_for_every_small_radix() {
        for index in SMALL_INDICES {
            let radix = u64::from(SMALL_RADICES[index as usize]);
            if index <= MAX_WORD_BITS {
                check_division(radix, index);
                check_division(radix * radix, index);
            }
        }
    }

    #[test]
    fn reciprocals_divide_exactly_for_every_size_of_a_big_coordinate() {
        // Sizes of one axis go up to 2^24 - 1. The proof requires that the multiplier fits 64 bits, and that its excess
        // over 2^shift / divisor, times the largest dividend, stays below 2^shift.
        for divisor in 2u64..1 << 24 {
            let reciprocal = Reciprocal::new(divisor, MAX_WORD_BITS);
            let shift = reciprocal.shift + 64;
            let excess = u128::from(reciprocal.multiplier) * u128::from(divisor) - (1u128 << shift);
            assert!(excess << MAX_WORD_BITS < 1u128 << shift || excess == 0, "divisor {divisor}");
        }
    }

    proptest! {
        #[test]
        fn reciprocals_divide_exactly_for_products_of_sizes(y in 2u64..1 << 24, z in 2u64..1 << 24, bits in 1u32..=57, dividend: u64) {
            check_division(y * z, bits);
            let dividend = dividend >> (64 - bits);
            prop_assert_eq!(Reciprocal::new(y * z, bits).divide(dividend), dividend / (y * z));
        }

        #[test]
        fn both_ways_of_unpacking_agree(bytes in proptest::collection::vec(any::<u8>(), 40), bit in 0u64..64, sizes in proptest::array::uniform3(1u32..1 << 19)) {
            let bits = packed_bits(sizes);
            // SAFETY: the function reads at most up to byte 8 + 16 of 40.
            let wide = unsafe { unpack_wide(bytes.as_ptr(), bit, sizes, bits) };
            if let Some(radix) = Radix::new(sizes, bits) {
                // SAFETY: the function reads at most up to byte 8 + 8 of 40.
                prop_assert_eq!(unsafe { radix.unpack(bytes.as_ptr(), bit) }, wide);
            }
        }
    }
}
