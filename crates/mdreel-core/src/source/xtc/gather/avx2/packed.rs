//! Unpacking of packed numbers, four at a time.
//!
//! Quotients are products in float64, of a positive integer less not quite half the divisor, `v - h`, and a reciprocal
//! that is rounded down; adding [`MAGIC`], at whose size float64 are integers, rounds to the nearest integer. With
//! `h = (divisor - 1) / 2`, rounded down, `(v - h) / divisor` exceeds the quotient less a half by half a divisor's part
//! at least, and the quotient by a half at most, which the reciprocal makes less: for `v < 2^50` the nearest integer is
//! the quotient. One subtraction does for both divisions of a mixed-radix number: what it takes for the first leaves
//! half a divisor less for the second. A multiple of both divisors is added, so all stays positive.

use std::arch::x86_64::*;

use super::super::numbers::MAX_BITS;
use crate::source::xtc::radix::{SMALL_INDICES, SMALL_RADICES};

/// `1.5 * 2^52`.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Numbers of a vector.
pub(crate) const WIDTH: usize = 4;
/// The widest small coordinates that are unpacked here: sums of eight fit 16 bits.
pub(crate) const MAX_INDEX: u32 = 39;
/// Number that is added to a sum of small coordinates to make it positive.
pub(crate) const BIAS: i32 = 1 << 15;

/// How the bits of a number lie: whole bytes, the least significant first, then the bits that are left.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Form {
    /// Which bytes of a word become bytes of the number.
    pick: [u8; 16],
    /// Marks the byte that is not a whole one.
    last: [u8; 16],
    /// Bits that this byte lacks.
    lacks: u64,
}

/// For each number of bits.
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

    /// The numbers on top of four words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn numbers(&self, top: __m256i) -> __m256i {
        let bytes = _mm256_shuffle_epi8(top, broadcast(&self.pick));
        let moved = _mm256_srlv_epi64(bytes, _mm256_set1_epi64x(self.lacks as i64));
        _mm256_blendv_epi8(bytes, moved, broadcast(&self.last))
    }
}

/// How numbers are taken apart.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Quotients {
    /// Reciprocals of the size of z, and of that of y; rounded down.
    inverses: [f64; 2],
    /// Not quite halves of these sizes.
    halves: [u64; 2],
    /// Number that is added before a division.
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

/// The quotient of `value`, given the divisor's reciprocal, plus `plus`; and without it.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn divide(value: __m256d, inverse: &f64, plus: &f64) -> (__m256d, __m256d) {
    let plus = _mm256_broadcast_sd(plus);
    let quotient = _mm256_fmadd_pd(value, _mm256_broadcast_sd(inverse), plus);
    (quotient, _mm256_sub_pd(quotient, plus))
}

/// Where in the 16 bytes of a load two numbers that follow one another lie, and how many bits of their first bytes are
/// others'; for two such loads.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Places {
    pick: [u8; 32],
    shift: [u64; 4],
}

impl Places {
    /// For the numbers `first` and the one behind it, and for `second` likewise; a load starts with the byte in which
    /// the first of its numbers does, if number 0 starts with a byte.
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

    /// The words on top of which the numbers stand.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn words(&self, first: *const u8, second: *const u8, phase: __m256i) -> __m256i {
        // SAFETY: as the caller promises; all arrays have 32 bytes.
        unsafe {
            let bytes = _mm256_loadu2_m128i(second.cast(), first.cast());
            let words = _mm256_shuffle_epi8(bytes, _mm256_load_si256(self.pick.as_ptr().cast()));
            _mm256_sllv_epi64(words, _mm256_add_epi64(_mm256_load_si256(self.shift.as_ptr().cast()), phase))
        }
    }
}

/// How the small coordinates of an index are unpacked: into three fields of 16 bits, z lowest.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(512))]
pub(crate) struct Small {
    /// Numbers 0, 1, 4 and 5; then 2, 3, 6 and 7; then 0, 1, 2 and 3.
    places: [Places; 3],
    /// What makes differences of fields, as bits of a float64 that is added to [`MAGIC`]; with the [`BIAS`] for number
    /// 0, from which all sums have it.
    offsets: [[i64; 4]; 2],
    /// The same as numbers, less what is added before a division.
    shifts: [[f64; 4]; 2],
    form: Form,
    inverse: f64,
    /// [`MAGIC`].
    magic: f64,
    /// By how much the place of x and y in the number and in the fields differ.
    moves: [f64; 2],
}

/// All small indices that are unpacked here.
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

    /// The fields of four numbers; of the first one with the [`BIAS`] if `K` is 0.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn fields<const K: usize>(&self, numbers: __m256i) -> __m256i {
        // SAFETY: there are four of each.
        let (offset, shift) =
            unsafe { (_mm256_load_si256(self.offsets[K].as_ptr().cast()), _mm256_load_pd(self.shifts[K].as_ptr())) };
        let number = _mm256_castsi256_pd(_mm256_add_epi64(numbers, offset));
        let (_, xy) = divide(_mm256_sub_pd(number, shift), &self.inverse, &self.magic);
        let (_, x) = divide(xy, &self.inverse, &self.magic);
        let [move_y, move_x] = self.moves.each_ref().map(|factor| _mm256_broadcast_sd(factor));
        _mm256_castpd_si256(_mm256_fmadd_pd(x, move_x, _mm256_fmadd_pd(xy, move_y, number)))
    }

    /// The fields of the eight small coordinates from `bit` on.
    ///
    /// # Safety
    /// 46 bytes must be readable from the byte on in which the first number starts; `index` is this one's.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn eight(&self, bytes: *const u8, bit: u64, index: usize) -> Fields {
        let phase = _mm256_set1_epi64x((bit & 7) as i64);
        // SAFETY: six numbers of 39 bits at most take 30 bytes, of which a load of 16 is made.
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

    /// The same for four.
    ///
    /// # Safety
    /// As for [`Self::eight`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn four(&self, bytes: *const u8, bit: u64, index: usize) -> Fields {
        let phase = _mm256_set1_epi64x((bit & 7) as i64);
        // SAFETY: as the caller promises.
        let words = unsafe {
            let bytes = bytes.add((bit >> 3) as usize);
            self.places[2].words(bytes, bytes.add(index / 4), phase)
        };
        Fields { outer: self.fields::<0>(self.form.numbers(words)), inner: _mm256_setzero_si256() }
    }
}

/// Small coordinates of a group as fields.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// Numbers 0, 1, 4 and 5; or the first four.
    outer: __m256i,
    /// Numbers 2, 3, 6 and 7.
    inner: __m256i,
}

impl Fields {
    /// Sums of the first, of the first two, and so on, with the [`BIAS`].
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

    /// The same of the first four.
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

/// How big coordinates are unpacked.
#[derive(Debug)]
pub(crate) struct Big {
    form: &'static Form,
    inverses: [f64; 2],
    /// [`MAGIC`] and what z lacks, added to a number; as a number, less what is added before a division.
    offset: i64,
    shift: f64,
    /// [`MAGIC`] and what the quotients lack.
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

    /// Those that start in the bytes `starts`, behind as many bits as the lowest three of `phases` say.
    ///
    /// # Safety
    /// Eight bytes must be readable from each of the bytes on.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn four(&self, bytes: *const u8, starts: [usize; WIDTH], phases: __m256i) -> [__m128i; 3] {
        // SAFETY: as the caller promises.
        let words = starts.map(|start| unsafe { bytes.add(start).cast::<i64>().read_unaligned() });
        let words = _mm256_setr_epi64x(words[0], words[1], words[2], words[3]);
        let reversed = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
        let words = _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(reversed));
        let top = _mm256_sllv_epi64(words, _mm256_and_si256(phases, _mm256_set1_epi64x(7)));
        self.components(self.form.numbers(top))
    }

    /// The components of four numbers.
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

/// The lower halves of four lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow(lanes: __m256d) -> __m128i {
    let lanes = _mm256_castpd_ps(lanes);
    let (low, high) = (_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(low, high))
}

/// Sixteen bytes, twice.
#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: there are sixteen bytes.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

#[cfg(test)]
mod tests;
