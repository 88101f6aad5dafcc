//! Unpacking of packed numbers, four at a time.
//!
//! Instead of dividing, the code multiplies in float64 by reciprocals that are rounded down, and adds [`MAGIC`]. The
//! sum is rounded to the nearest integer, because float64 numbers of its size are integers. Before the multiplication,
//! the code subtracts slightly less than half the divisor, `h = (divisor - 1) / 2` rounded down. `(v - h) / divisor`
//! exceeds the quotient minus 1/2 by at least `1 / (2 * divisor)`. It exceeds the quotient by at most 1/2, and the
//! rounded reciprocal reduces this excess. For `v < 2^50`, the nearest integer is therefore the quotient.
//!
//! A single subtraction serves both divisions of a mixed-radix number: it also makes the dividend of the second
//! division smaller by about half the divisor of that division. The code adds a multiple of both divisors, so that all
//! values stay positive.

use std::arch::x86_64::*;

use super::super::numbers::MAX_BITS;
use crate::source::xtc::radix::{SMALL_INDICES, SMALL_RADICES};

/// `1.5 * 2^52`.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Number of elements of a vector.
pub(crate) const WIDTH: usize = 4;
/// Maximum width of the small coordinates that this code unpacks, so that sums of eight fit 16 bits.
pub(crate) const MAX_INDEX: u32 = 39;
/// Number that is added to a sum of small coordinates to make it positive.
pub(crate) const BIAS: i32 = 1 << 15;

/// Layout of the bits of a number: whole bytes, the least significant first, then the remaining bits.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Form {
    /// Shuffle pattern that picks the bytes of a word for the bytes of the number.
    pick: [u8; 16],
    /// Mask of the byte that is not complete.
    last: [u8; 16],
    /// Number of bits that this byte lacks.
    lacks: u64,
}

/// Layout for each number of bits.
static FORMS: [Form; MAX_BITS as usize + 1] = {
    let mut table = [Form::new(0); MAX_BITS as usize + 1];
    let mut bits = 1;
    while bits <= MAX_BITS {
        table[bits as usize] = Form::new(bits);
        bits += 1;
    }
    table
};

impl Form {
    const fn new(bits: u32) -> Self {
        let (whole, rest) = ((bits / 8) as usize, bits % 8);
        let (mut pick, mut last) = ([0x80; 16], [0; 16]);
        let mut lane = 0;
        while lane < 16 {
            let mut byte = 0;
            while byte < whole + (rest > 0) as usize {
                pick[lane + byte] = (lane + 7 - byte) as u8;
                byte += 1;
            }
            if rest > 0 {
                last[lane + whole] = 0xff;
            }
            lane += 8;
        }
        Form { pick, last, lacks: (8 - rest) as u64 }
    }

    /// Returns the numbers in the upper bits of four words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn numbers(&self, top: __m256i) -> __m256i {
        let bytes = _mm256_shuffle_epi8(top, broadcast(&self.pick));
        let moved = _mm256_srlv_epi64(bytes, _mm256_set1_epi64x(self.lacks as i64));
        _mm256_blendv_epi8(bytes, moved, broadcast(&self.last))
    }
}

/// Constants for splitting numbers into components.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Quotients {
    /// Reciprocals of the sizes of z and of y, rounded down.
    inverses: [f64; 2],
    /// `(size - 1) / 2` for these sizes, rounded down.
    halves: [u64; 2],
    /// Number that is added before the divisions.
    before: i64,
}

impl Quotients {
    const fn new(sizes: [u32; 3]) -> Self {
        let [_, y, z] = [sizes[0] as u64, sizes[1] as u64, sizes[2] as u64];
        let halves = [(z - 1) / 2, (y - 1) / 2];
        Quotients {
            inverses: [(1.0 / z as f64).next_down(), (1.0 / y as f64).next_down()],
            halves,
            before: (y * z) as i64 - (halves[0] + halves[1] * z) as i64,
        }
    }
}

/// Returns the quotient of `value`, given the reciprocal of the divisor, with `plus` added and without it.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn divide(value: __m256d, inverse: &f64, plus: &f64) -> (__m256d, __m256d) {
    let plus = _mm256_broadcast_sd(plus);
    let quotient = _mm256_fmadd_pd(value, _mm256_broadcast_sd(inverse), plus);
    (quotient, _mm256_sub_pd(quotient, plus))
}

/// Positions of two consecutive numbers in the 16 bytes of a load, for two loads. Each position consists of the bytes
/// of the number and the number of bits before it in its first byte.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Places {
    pick: [u8; 32],
    shift: [u64; 4],
}

impl Places {
    /// Creates the positions of the numbers `first` and `first + 1` in one load, and of `second` and `second + 1` in
    /// another. If number 0 starts at the beginning of a byte, a load starts with the byte in which its first number
    /// starts.
    const fn new(bits: u32, first: u32, second: u32) -> Self {
        let numbers = [first, first + 1, second, second + 1];
        let (mut pick, mut shift) = ([0; 32], [0; 4]);
        let mut lane = 0;
        while lane < 4 {
            let from = numbers[lane] * bits;
            let load = numbers[lane & 2] * bits / 8;
            let mut byte = 0;
            while byte < 8 {
                pick[8 * lane + byte] = (from / 8 - load) as u8 + 7 - byte as u8;
                byte += 1;
            }
            shift[lane] = (from % 8) as u64;
            lane += 1;
        }
        Places { pick, shift }
    }

    /// Returns the words whose upper bits contain the numbers. `phase` is the bit at which number 0 starts in its byte.
    ///
    /// # Safety
    /// 16 bytes must be readable from `first` and from `second` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn words(&self, first: *const u8, second: *const u8, phase: __m256i) -> __m256i {
        // SAFETY: the caller guarantees that these bytes are readable. All arrays have 32 bytes.
        unsafe {
            let bytes = _mm256_loadu2_m128i(second.cast(), first.cast());
            let words = _mm256_shuffle_epi8(bytes, _mm256_load_si256(self.pick.as_ptr().cast()));
            _mm256_sllv_epi64(words, _mm256_add_epi64(_mm256_load_si256(self.shift.as_ptr().cast()), phase))
        }
    }
}

/// Constants for unpacking the small coordinates of an index into three fields of 16 bits, with z in the lowest field.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(512))]
pub(crate) struct Small {
    /// Positions of the numbers 0, 1, 4 and 5, then of 2, 3, 6 and 7, then of 0, 1, 2 and 3.
    places: [Places; 3],
    /// Offsets that turn the fields into differences, as the bits of a float64 with [`MAGIC`] added. The offset of
    /// number 0 includes the [`BIAS`], so all sums include it.
    offsets: [[i64; 4]; 2],
    /// The same offsets as float64 numbers, minus the number that is added before the divisions.
    shifts: [[f64; 4]; 2],
    form: Form,
    inverse: f64,
    /// [`MAGIC`].
    magic: f64,
    /// Differences between the factors of y and x in the fields and those in the number.
    moves: [f64; 2],
}

/// Constants of all small indices that this code unpacks.
pub(crate) static SMALL: [Small; MAX_INDEX as usize + 1] = {
    let mut table = [Small::new(0, 1); MAX_INDEX as usize + 1];
    let mut index = *SMALL_INDICES.start();
    while index <= MAX_INDEX {
        table[index as usize] = Small::new(index, SMALL_RADICES[index as usize]);
        index += 1;
    }
    table
};

impl Small {
    const fn new(index: u32, radix: u32) -> Self {
        let quotients = Quotients::new([radix; 3]);
        let (radix, half, nearly) = (radix as i64, (radix / 2) as i64, quotients.halves[0] as i64);
        let offset = quotients.before + (nearly - half) * (1 + (1 << 16)) - (1 + half) * (1 << 32);
        let (mut offsets, mut shifts) = ([[0; 4]; 2], [[0.0; 4]; 2]);
        let mut k = 0;
        while k < 8 {
            let offset = if k == 0 { offset + BIAS as i64 * (1 + (1 << 16) + (1 << 32)) } else { offset };
            offsets[k / 4][k % 4] = MAGIC.to_bits() as i64 + offset;
            shifts[k / 4][k % 4] = MAGIC + (offset - quotients.before) as f64;
            k += 1;
        }
        Small {
            places: [Places::new(index, 0, 4), Places::new(index, 2, 6), Places::new(index, 0, 2)],
            offsets,
            shifts,
            form: FORMS[index as usize],
            inverse: quotients.inverses[0],
            magic: MAGIC,
            moves: [((1 << 16) - radix) as f64, (((1 << 16) - radix) << 16) as f64],
        }
    }

    /// Returns the fields of four numbers. If `K` is 0, the field of the first number includes the [`BIAS`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn fields<const K: usize>(&self, numbers: __m256i) -> __m256i {
        // SAFETY: each array has four elements.
        let (offset, shift) =
            unsafe { (_mm256_load_si256(self.offsets[K].as_ptr().cast()), _mm256_load_pd(self.shifts[K].as_ptr())) };
        let number = _mm256_castsi256_pd(_mm256_add_epi64(numbers, offset));
        let (_, xy) = divide(_mm256_sub_pd(number, shift), &self.inverse, &self.magic);
        let (_, x) = divide(xy, &self.inverse, &self.magic);
        let [move_y, move_x] = self.moves.each_ref().map(|factor| _mm256_broadcast_sd(factor));
        _mm256_castpd_si256(_mm256_fmadd_pd(x, move_x, _mm256_fmadd_pd(xy, move_y, number)))
    }

    /// Returns the fields of the eight small coordinates from `bit` on.
    ///
    /// # Safety
    /// 46 bytes must be readable from the byte in which the first number starts. `index` must be the index of `self`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn eight(&self, bytes: *const u8, bit: u64, index: usize) -> Fields {
        let phase = _mm256_set1_epi64x((bit & 7) as i64);
        // SAFETY: the last load starts after six numbers of at most 39 bits, at byte 30 or before, and reads 16 bytes.
        let [outer, inner] = unsafe {
            let bytes = bytes.add((bit >> 3) as usize);
            [
                self.places[0].words(bytes, bytes.add(index / 2), phase),
                self.places[1].words(bytes.add(index / 4), bytes.add(3 * index / 4), phase),
            ]
        };
        let (outer, inner) = (self.form.numbers(outer), self.form.numbers(inner));
        Fields { outer: self.fields::<0>(outer), inner: self.fields::<1>(inner) }
    }

    /// Returns the fields of the four small coordinates from `bit` on.
    ///
    /// # Safety
    /// The same as for [`Self::eight`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn four(&self, bytes: *const u8, bit: u64, index: usize) -> Fields {
        let phase = _mm256_set1_epi64x((bit & 7) as i64);
        // SAFETY: the caller guarantees that these bytes are readable.
        let words = unsafe {
            let bytes = bytes.add((bit >> 3) as usize);
            self.places[2].words(bytes, bytes.add(index / 4), phase)
        };
        Fields { outer: self.fields::<0>(self.form.numbers(words)), inner: _mm256_setzero_si256() }
    }
}

/// Fields of the small coordinates of a group.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// Numbers 0, 1, 4 and 5, or the first four if only four are unpacked.
    outer: __m256i,
    /// Numbers 2, 3, 6 and 7.
    inner: __m256i,
}

impl Fields {
    /// Returns the sums of the first number, the first two numbers, and so on, each with the [`BIAS`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn sums_of_eight(self) -> [__m256i; 3] {
        let outer = _mm256_add_epi64(self.outer, _mm256_slli_si256::<8>(self.outer));
        let inner = _mm256_add_epi64(self.inner, _mm256_slli_si256::<8>(self.inner));
        let inner = _mm256_add_epi64(inner, _mm256_unpackhi_epi64(outer, outer));
        let four = _mm256_permute2x128_si256::<0x08>(inner, inner);
        let four = _mm256_unpackhi_epi64(four, four);
        let outer = _mm256_castsi256_ps(_mm256_add_epi64(outer, four));
        let inner = _mm256_castsi256_ps(_mm256_add_epi64(inner, four));
        let x = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(outer, inner));
        let yz = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(outer, inner));
        let low = _mm256_set1_epi32(0xffff);
        [_mm256_and_si256(x, low), _mm256_srli_epi32::<16>(yz), _mm256_and_si256(yz, low)]
    }

    /// Returns the same sums for the first four numbers.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn sums_of_four(self) -> [__m128i; 3] {
        let two = _mm256_add_epi64(self.outer, _mm256_slli_si256::<8>(self.outer));
        let (low, high) = (_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two));
        let high = _mm_castsi128_ps(_mm_add_epi64(high, _mm_unpackhi_epi64(low, low)));
        let low = _mm_castsi128_ps(low);
        let x = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(low, high));
        let yz = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(low, high));
        let low = _mm_set1_epi32(0xffff);
        [_mm_and_si128(x, low), _mm_srli_epi32::<16>(yz), _mm_and_si128(yz, low)]
    }
}

/// Constants for unpacking big coordinates.
#[derive(Debug)]
pub(crate) struct Big {
    form: &'static Form,
    inverses: [f64; 2],
    /// Bits of [`MAGIC`] plus the offset of z, which are added to a number.
    offset: i64,
    /// The same as a float64, minus the number that is added before the divisions.
    shift: f64,
    /// [`MAGIC`] plus the offsets of the quotients y and x.
    plus: [f64; 2],
    sizes: [f64; 2],
}

impl Big {
    /// Creates the constants for numbers of `bits` bits with components below `sizes`, to which `min` is added.
    pub(crate) fn new(bits: u32, sizes: [u32; 3], min: [i32; 3]) -> Self {
        let quotients = Quotients::new(sizes);
        let [half_z, half_y] = quotients.halves.map(|half| half as i64);
        let offset = quotients.before + half_z + i64::from(min[2]);
        Big {
            form: &FORMS[bits as usize],
            inverses: quotients.inverses,
            offset: MAGIC.to_bits() as i64 + offset,
            shift: MAGIC + (offset - quotients.before) as f64,
            plus: [MAGIC + (half_y + i64::from(min[1])) as f64, MAGIC + (i64::from(min[0]) - 1) as f64],
            sizes: [f64::from(sizes[2]), f64::from(sizes[1])],
        }
    }

    /// Returns the components of the four numbers that start in the bytes `starts`. The lowest three bits of `phases`
    /// specify the first bit within each of these bytes.
    ///
    /// # Safety
    /// Eight bytes must be readable from each of these bytes on.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn four(&self, bytes: *const u8, starts: [usize; WIDTH], phases: __m256i) -> [__m128i; 3] {
        // SAFETY: the caller guarantees that these bytes are readable.
        let words = starts.map(|start| unsafe { bytes.add(start).cast::<i64>().read_unaligned() });
        let words = _mm256_setr_epi64x(words[0], words[1], words[2], words[3]);
        let reversed = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
        let words = _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(reversed));
        let top = _mm256_sllv_epi64(words, _mm256_and_si256(phases, _mm256_set1_epi64x(7)));
        self.components(self.form.numbers(top))
    }

    /// Returns the components of four numbers.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn components(&self, numbers: __m256i) -> [__m128i; 3] {
        let number = _mm256_castsi256_pd(_mm256_add_epi64(numbers, _mm256_set1_epi64x(self.offset)));
        let shifted = _mm256_sub_pd(number, _mm256_broadcast_sd(&self.shift));
        let (y, xy) = divide(shifted, &self.inverses[0], &self.plus[0]);
        let z = _mm256_fnmadd_pd(xy, _mm256_broadcast_sd(&self.sizes[0]), number);
        let (x, whole) = divide(xy, &self.inverses[1], &self.plus[1]);
        let y = _mm256_fnmadd_pd(whole, _mm256_broadcast_sd(&self.sizes[1]), y);
        [x, y, z].map(|component| narrow(component))
    }
}

/// Returns the lower halves of four lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow(lanes: __m256d) -> __m128i {
    let lanes = _mm256_castpd_ps(lanes);
    let (low, high) = (_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(low, high))
}

/// Returns a vector that contains sixteen bytes twice.
#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the array has sixteen bytes.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

#[cfg(test)]
mod tests;
