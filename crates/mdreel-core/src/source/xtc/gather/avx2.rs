//! Gathering with AVX2, which unpacks the small coordinates of a group side by side.
//!
//! The numbers of a group have the same width and radix and are consecutive, so four loads unpack eight of them for any
//! run length. The code also unpacks and writes the numbers after the run, and the next group overwrites them, because
//! a processor cannot predict where runs end.

mod packed;

use std::arch::x86_64::*;

use super::super::coded::{self, Coded};
use super::super::control::{CHUNK, Group};
use super::numbers::MAX_BITS;
use crate::frame::ColumnsMut;
use crate::units::ANGSTROM_PER_NANOMETRE;
use packed::{BIAS, Big, Fields, MAX_INDEX, SMALL, WIDTH};

/// Number of small coordinates of a group that are unpacked at a time.
const MOST: usize = 8;
/// Number of entries written for a group: its atoms and the excess.
const PLACES: usize = MOST + 1;
/// Threshold for a separate branch that unpacks fewer small coordinates for short groups. The branch pays if more than
/// this many of three groups are short.
const MOSTLY: usize = 2;

/// Big coordinates of the groups of a chunk, with room for a vector after them.
#[derive(Debug)]
pub(crate) struct Bigs {
    /// Integers, minus the bias that the sums of small coordinates contain.
    whole: [[i32; CHUNK + WIDTH]; 3],
    /// Coordinates in Å.
    scaled: [[f32; CHUNK + WIDTH]; 3],
}

impl Default for Bigs {
    fn default() -> Self {
        Bigs { whole: [[0; CHUNK + WIDTH]; 3], scaled: [[0.0; CHUNK + WIDTH]; 3] }
    }
}

/// Common properties of the small coordinates of a frame.
#[derive(Clone, Copy)]
struct Smalls {
    bytes: *const u8,
    big_bits: u32,
}

impl Smalls {
    /// Returns the fields of the small coordinates of a group.
    ///
    /// # Safety
    /// The group must come from a walk over `bytes`, and its small index must not exceed [`MAX_INDEX`].
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn fields<const SHORT: bool>(self, group: Group) -> Fields {
        let index = usize::from(group.small_index());
        let bit = group.bit() + u64::from(self.big_bits + group.control_bits());
        // SAFETY: the caller vouches for the index. `bit` lies within the frame or directly after it, and the margin
        // covers 46 bytes.
        unsafe {
            let small = SMALL.get_unchecked(index);
            if is_short::<SHORT>(group) {
                small.four(self.bytes, bit, index)
            } else {
                small.eight(self.bytes, bit, index)
            }
        }
    }
}

/// Factor from integers to nm. The methods also convert nm to Å.
#[derive(Clone, Copy)]
struct Scale(f32);

impl Scale {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn eight(self, values: __m256i) -> __m256 {
        let scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(values), _mm256_set1_ps(self.0));
        _mm256_mul_ps(scaled, _mm256_set1_ps(ANGSTROM_PER_NANOMETRE))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn four(self, values: __m128i) -> __m128 {
        let scaled = _mm_mul_ps(_mm_cvtepi32_ps(values), _mm_set1_ps(self.0));
        _mm_mul_ps(scaled, _mm_set1_ps(ANGSTROM_PER_NANOMETRE))
    }
}

impl Bigs {
    /// Gathers as [`super::Gather::gather`] does, for packed numbers of up to [`MAX_BITS`] bits, small ones of up to
    /// [`MAX_INDEX`] bits, and groups that need at most [`MOST`] small coordinates. Returns `None` if there are others.
    ///
    /// # Safety
    /// The same as for [`super::Gather::gather`].
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(crate) unsafe fn gather<const ALL: bool>(
        &mut self,
        frame: &Coded<'_>,
        groups: &[Group],
        columns: &mut ColumnsMut<'_>,
        at: usize,
    ) -> Option<usize> {
        if matches!(frame.big, coded::Big::Fields(_)) || frame.big.bits() > MAX_BITS {
            return None;
        }
        let groups = &groups[..groups.len().min(CHUNK)];
        let n_short = self.unpack(frame, groups)?;
        let columns = [&mut columns.x[at..], &mut columns.y[at..], &mut columns.z[at..]];
        Some(if 3 * n_short > MOSTLY * groups.len() {
            self.place::<ALL, true>(frame, groups, columns)
        } else {
            self.place::<ALL, false>(frame, groups, columns)
        })
    }

    /// Unpacks the big coordinates. Returns the number of groups that need at most four small coordinates, or `None` if
    /// this code cannot unpack one of the groups.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn unpack(&mut self, frame: &Coded<'_>, groups: &[Group]) -> Option<usize> {
        let big = Big::new(frame.big.bits(), frame.sizes, frame.min);
        let scale = Scale(frame.inverse_precision);
        let zero = _mm256_setzero_si256();
        let (mut widest, mut any, mut short) = (zero, zero, zero);
        for at in (0..groups.len()).step_by(WIDTH) {
            let four: [Group; WIDTH] = match groups[at..].first_chunk() {
                Some(four) => *four,
                None => std::array::from_fn(|k| groups[(at + k).min(groups.len() - 1)]),
            };
            // SAFETY: a group is a word. The groups come from a walk over `data`, and the margin covers the loads.
            let (words, c) = unsafe {
                let words = _mm256_loadu_si256(four.as_ptr().cast());
                (words, big.four(frame.data(), four.map(|group| (group.bit() >> 3) as usize), words))
            };
            // Doubling the word moves the small index to the upper bits of a byte.
            widest = _mm256_max_epu8(widest, _mm256_add_epi64(words, words));
            any = _mm256_or_si256(any, words);
            let long = _mm256_srli_epi64::<{ Group::WANTED as i32 + WIDTH as i32 + 1 }>(words);
            short = _mm256_sub_epi64(short, _mm256_cmpeq_epi64(long, zero));
            for (axis, &values) in c.iter().enumerate() {
                let base = _mm_sub_epi32(values, _mm_set1_epi32(BIAS));
                // SAFETY: `at` is less than `CHUNK`, and there is room for a vector after `CHUNK` entries.
                unsafe {
                    _mm_storeu_si128(self.whole[axis].as_mut_ptr().add(at).cast(), base);
                    _mm_storeu_ps(self.scaled[axis].as_mut_ptr().add(at), scale.four(values));
                }
            }
        }
        let indices = words(widest).map(|word| word as u64 >> (Group::INDEX + 1) & 0x7f);
        let longest = words(any).into_iter().fold(0, |all, word| all | word as u64 >> Group::WANTED);
        let fits = indices.into_iter().all(|index| index <= u64::from(MAX_INDEX)) && longest < 2 << MOST;
        // The last vector may contain the last group more than once, which does not matter.
        fits.then(|| words(short).into_iter().sum::<i64>() as usize)
    }

    /// Writes the selected atoms of `groups` into columns, as far as there is room, and returns their number.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn place<const ALL: bool, const SHORT: bool>(
        &self,
        frame: &Coded<'_>,
        groups: &[Group],
        columns: [&mut [f32]; 3],
    ) -> usize {
        let room = columns[0].len().min(columns[1].len()).min(columns[2].len());
        let columns = columns.map(|column| column.as_mut_ptr());
        let scale = Scale(frame.inverse_precision);
        let smalls = Smalls { bytes: frame.data(), big_bits: frame.big.bits() };
        let Some((&first, rest)) = groups.split_first() else { return 0 };
        // The loop unpacks the small coordinates of the next group while it sums up those of the current one. A
        // processor works on at most two groups at a time, and would otherwise wait for the sums.
        // SAFETY: `unpack` has checked that the index is in the table. The same applies below.
        let mut next = unsafe { smalls.fields::<SHORT>(first) };
        let mut atoms = [[0.0; PLACES]; 3];
        let mut n = 0;
        for ((g, &group), &following) in groups.iter().enumerate().zip(rest.iter().chain([&first])) {
            let fields = next;
            // SAFETY: the same as above.
            next = unsafe { smalls.fields::<SHORT>(following) };
            let n_wanted = if ALL { group.run() + 1 } else { group.wanted().count_ones() as usize };
            if ALL && n + PLACES <= room {
                // SAFETY: the columns have room for `PLACES` entries from `n` on.
                unsafe { self.write::<SHORT>((g, group), fields, scale, columns.map(|column| column.add(n))) };
                n += n_wanted;
                continue;
            }
            // SAFETY: each column of `atoms` has `PLACES` entries.
            unsafe { self.write::<SHORT>((g, group), fields, scale, atoms.each_mut().map(|c| c.as_mut_ptr())) };
            let mut wanted = group.wanted();
            for place in n..(n + n_wanted).min(room) {
                let k = wanted.trailing_zeros() as usize;
                wanted &= wanted.wrapping_sub(1);
                for axis in 0..3 {
                    // SAFETY: `place` is less than `room`, and no bit is set beyond the one of the last entry.
                    unsafe { *columns[axis].add(place) = *atoms[axis].as_ptr().add(k) };
                }
            }
            n = (n + n_wanted).min(room);
        }
        n.min(room)
    }

    /// Writes the atoms of group number `g`, and excess values, into [`PLACES`] entries of each column.
    ///
    /// # Safety
    /// The columns must have these entries, and `g` must be less than [`CHUNK`].
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn write<const SHORT: bool>(
        &self,
        (g, group): (usize, Group),
        fields: Fields,
        scale: Scale,
        columns: [*mut f32; 3],
    ) {
        // In a group with a run, the first small coordinate belongs before the big one.
        let place = usize::from(group.run() > 0);
        // SAFETY: the caller guarantees that the columns have these entries and that `g` is valid.
        unsafe {
            if is_short::<SHORT>(group) {
                let sums = fields.sums_of_four();
                for axis in 0..3 {
                    let base = _mm_set1_epi32(*self.whole[axis].get_unchecked(g));
                    let atoms = scale.four(_mm_add_epi32(sums[axis], base));
                    _mm_storeu_ps(columns[axis].add(1), atoms);
                    _mm_store_ss(columns[axis], atoms);
                    *columns[axis].add(place) = *self.scaled[axis].get_unchecked(g);
                }
            } else {
                let sums = fields.sums_of_eight();
                for axis in 0..3 {
                    let base = _mm256_set1_epi32(*self.whole[axis].get_unchecked(g));
                    let atoms = scale.eight(_mm256_add_epi32(sums[axis], base));
                    _mm256_storeu_ps(columns[axis].add(1), atoms);
                    _mm_store_ss(columns[axis], _mm256_castps256_ps128(atoms));
                    *columns[axis].add(place) = *self.scaled[axis].get_unchecked(g);
                }
            }
        }
    }
}

/// Returns whether the code unpacks only four small coordinates of the group, which are enough. `SHORT` enables this.
#[inline(always)]
fn is_short<const SHORT: bool>(group: Group) -> bool {
    SHORT && group.wanted() < 2 << WIDTH
}

/// Returns the lanes of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn words(lanes: __m256i) -> [i64; WIDTH] {
    let mut words = [0; WIDTH];
    // SAFETY: there is room for four words.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), lanes) };
    words
}
