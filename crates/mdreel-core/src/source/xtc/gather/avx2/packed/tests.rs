//! Comparison of the unpacking of four numbers at a time with integer arithmetic on single numbers.

use proptest::prelude::*;

use super::*;
use crate::simd::Level;
use crate::source::xtc::radix::{self, packed_bits};

const INDICES: std::ops::RangeInclusive<u32> = *SMALL_INDICES.start()..=MAX_INDEX;

fn here() -> bool {
    Level::detect().is_avx2()
}

/// Returns the first and the last components below `size`, and those near its half.
fn extremes(size: u32) -> Vec<u32> {
    let half = size / 2;
    let mut all = vec![0, 1, half.saturating_sub(1), half, half + 1, size.saturating_sub(2), size - 1];
    all.retain(|&component| component < size);
    all
}

/// Returns numbers whose quotients are the most difficult to compute, and the largest numbers of `bits` bits.
fn hard_numbers(sizes: [u32; 3], bits: u32) -> Vec<u64> {
    let [xs, ys, zs] = sizes.map(extremes);
    let most = (1 << bits) - 1;
    let mut numbers = vec![most, most - 1, most / 2];
    for (&x, &y) in xs.iter().flat_map(|x| ys.iter().map(move |y| (x, y))) {
        let xy = u64::from(x) * u64::from(sizes[1]) + u64::from(y);
        numbers.extend(zs.iter().map(|&z| xy * u64::from(sizes[2]) + u64::from(z)));
    }
    numbers.retain(|&number| number <= most);
    numbers
}

/// Returns four numbers of a list, from the `at`-th on.
#[target_feature(enable = "avx2,fma")]
fn four_of(numbers: &[u64], at: usize) -> ([u64; 4], __m256i) {
    let four = [0, 1, 2, 3].map(|k| numbers[(at + k) % numbers.len()]);
    let [a, b, c, d] = four.map(|number| number as i64);
    (four, _mm256_setr_epi64x(a, b, c, d))
}

#[target_feature(enable = "avx2,fma")]
fn check_small(index: u32) {
    let radix = u64::from(SMALL_RADICES[index as usize]);
    let numbers = hard_numbers([radix as u32; 3], index);
    for at in (0..numbers.len()).step_by(4) {
        let (four, vector) = four_of(&numbers, at);
        let mut fields = [0u64; 4];
        // SAFETY: there is room for four numbers.
        unsafe { _mm256_storeu_si256(fields.as_mut_ptr().cast(), SMALL[index as usize].fields::<1>(vector)) };
        for (number, field) in four.into_iter().zip(fields) {
            let parts = [number % radix, number / radix % radix, number / radix / radix];
            let [z, y, x] = parts.map(|part| part.wrapping_sub(radix / 2));
            let expected = z.wrapping_add(y << 16).wrapping_add(x << 32);
            assert_eq!(field << 16, expected << 16, "index {index}, number {number}");
        }
    }
}

#[test]
fn test_fields_of_hard_numbers_equal_integer_division() {
    if here() {
        // SAFETY: the processor has AVX2.
        INDICES.for_each(|index| unsafe { check_small(index) });
    }
}

#[test]
fn test_sums_of_eight_fit_fields() {
    for index in INDICES {
        let radix = u64::from(SMALL_RADICES[index as usize]);
        let largest = ((1u64 << index) - 1) / (radix * radix);
        assert!(8 * (radix / 2) <= BIAS as u64, "index {index}");
        assert!(8 * (largest.max(radix - 1) - radix / 2) + (BIAS as u64) < 1 << 16, "index {index}");
    }
}

#[target_feature(enable = "avx2,fma")]
fn check_sums(bytes: &[u8; 64], bit: u64, index: u32) {
    let one = &radix::SMALL[index as usize];
    let mut sum = [BIAS; 3];
    let mut expected = [[0; 8]; 3];
    for k in 0..8 {
        // SAFETY: at most byte 1 + 8 * 39 / 8 + 8 of 64 is read.
        let parts = unsafe { one.radix.unpack(bytes.as_ptr(), bit + k * u64::from(index)) };
        for axis in 0..3 {
            sum[axis] += parts[axis] - one.half;
            expected[axis][k as usize] = sum[axis];
        }
    }
    let (small, index) = (&SMALL[index as usize], index as usize);
    // SAFETY: at most byte 1 + 46 of 64 is read, and there is room for the stored values.
    unsafe {
        let sums = small.eight(bytes.as_ptr(), bit, index).sums_of_eight();
        let first = small.four(bytes.as_ptr(), bit, index).sums_of_four();
        for axis in 0..3 {
            let (mut eight, mut four) = ([0; 8], [0; 4]);
            _mm256_storeu_si256(eight.as_mut_ptr().cast(), sums[axis]);
            _mm_storeu_si128(four.as_mut_ptr().cast(), first[axis]);
            assert_eq!(eight, expected[axis], "index {index}, bit {bit}");
            assert_eq!(four, expected[axis][..4], "index {index}, bit {bit}");
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn check_big(sizes: [u32; 3], min: [i32; 3], numbers: &[u64]) {
    let big = Big::new(packed_bits(sizes), sizes, min);
    let (size_y, size_z) = (u64::from(sizes[1]), u64::from(sizes[2]));
    for at in (0..numbers.len()).step_by(4) {
        let (four, vector) = four_of(numbers, at);
        let components = big.components(vector).map(|component| {
            let mut values = [0i32; 4];
            // SAFETY: there is room for four numbers.
            unsafe { _mm_storeu_si128(values.as_mut_ptr().cast(), component) };
            values
        });
        for (k, number) in four.into_iter().enumerate() {
            let parts = [number / (size_y * size_z), number / size_z % size_y, number % size_z];
            for axis in 0..3 {
                let expected = (parts[axis] as i32).wrapping_add(min[axis]);
                assert_eq!(components[axis][k], expected, "number {number}, sizes {sizes:?}, min {min:?}");
            }
        }
    }
}

#[test]
fn test_components_of_hard_numbers_equal_integer_division() {
    let sizes = [1, 2, 3, 4, 5, 1000, 4096, 4097, 65_535, 65_536, 1 << 20, (1 << 24) - 2, (1 << 24) - 1];
    for (x, y, z) in sizes.iter().flat_map(|&x| sizes.iter().flat_map(move |&y| sizes.map(|z| (x, y, z)))) {
        let bits = packed_bits([x, y, z]);
        if bits <= MAX_BITS && here() {
            let numbers = hard_numbers([x, y, z], bits);
            for min in [i32::MIN, -1, 0, i32::MAX] {
                // SAFETY: the processor has AVX2.
                unsafe { check_big([x, y, z], [min, min / 3, !min], &numbers) };
            }
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn check_bits(bytes: &[u8; 64], starts: [usize; 4], phases: [u64; 4], sizes: [u32; 3]) {
    let bits = packed_bits(sizes);
    let [a, b, c, d] = phases.map(|phase| phase as i64);
    // SAFETY: at most byte 40 + 8 of 64 is read.
    let big = unsafe {
        Big::new(bits, sizes, [0; 3]).four(bytes.as_ptr(), starts, _mm256_setr_epi64x(a, b, c, d)).map(|component| {
            let mut values = [0i32; 4];
            _mm_storeu_si128(values.as_mut_ptr().cast(), component);
            values
        })
    };
    for k in 0..4 {
        let bit = 8 * starts[k] as u64 + phases[k] % 8;
        // SAFETY: at most byte 40 + 16 of 64 is read.
        let expected = unsafe { radix::unpack_wide(bytes.as_ptr(), bit, sizes, bits) };
        assert_eq!([big[0][k], big[1][k], big[2][k]], expected, "{sizes:?}");
    }
}

proptest! {
    #[test]
    fn test_sums_of_any_bits_equal_sums_of_single_numbers(bytes: [u8; 32], more: [u8; 32], bit in 0u64..8) {
        let bytes: [u8; 64] = std::array::from_fn(|k| if k < 32 { bytes[k] } else { more[k - 32] });
        if here() {
            // SAFETY: the processor has AVX2.
            INDICES.for_each(|index| unsafe { check_sums(&bytes, bit, index) });
        }
    }

    #[test]
    fn test_big_coordinates_of_any_bits_equal_single_ones(
        bytes: [u8; 32], more: [u8; 32], starts in proptest::array::uniform4(0usize..40), phases: [u64; 4],
        sizes in proptest::array::uniform3(1u32..1 << 16), wide in 1u32..1 << 24,
    ) {
        let bytes: [u8; 64] = std::array::from_fn(|k| if k < 32 { bytes[k] } else { more[k - 32] });
        for sizes in [sizes, [wide, sizes[1], 1 + sizes[2] % 200], [1 + sizes[0] % 200, 1, wide]] {
            if here() && packed_bits(sizes) <= MAX_BITS {
                // SAFETY: the processor has AVX2.
                unsafe { check_bits(&bytes, starts, phases, sizes) };
            }
        }
    }
}
