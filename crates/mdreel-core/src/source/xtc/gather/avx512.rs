//! Gathering with AVX-512, eight packed numbers at a time.
//!
//! Groups differ in length, so a processor cannot predict the end of a loop over the atoms of a group. Instead, the
//! work consists of passes without such branches. They list the required small coordinates, unpack them, and compute
//! their prefix sums. Then they unpack the big coordinates, and compute each selected atom from the big coordinate of
//! its group and two sums.

mod packed;
mod rows;
mod whole;

use std::arch::x86_64::*;

use super::super::coded::{Big, Coded};
use super::super::control::{CHUNK, Group, MAX_RUN};
use super::super::radix::SMALL_RADICES;
use super::numbers::{MAX_BITS, angstrom};
use crate::frame::ColumnsMut;
use crate::units::ANGSTROM_PER_NANOMETRE;
use packed::{UP, WIDTH, each_row, last_row, load_numbers, reciprocal, rows, running_sums, split};
use rows::{ATOMS, Rows};

/// Capacity for the small coordinates of a chunk and the excess of the last store.
const SMALLS: usize = CHUNK * MAX_RUN + 2 * WIDTH;

/// Integer coordinates of an atom: x, y, z and an unused element.
type Row = [i32; 4];

/// Lists for one chunk, which fit the second-level cache.
#[derive(Debug)]
pub(crate) struct Flat {
    /// Start of each small coordinate, in bits from the chunk's first byte.
    small_bits: [u32; SMALLS],
    small_indices: [u8; SMALLS],
    /// Group of each selected atom (upper 16 bits) and the number of small coordinates in its sum. The list is used
    /// only if not all atoms are selected.
    atoms: [u32; ATOMS],
    /// Index of the first small coordinate of each group.
    starts: [u16; CHUNK],
    /// `sums[i]` is the sum of the first `i` small coordinates.
    sums: [Row; SMALLS + 2 * WIDTH],
    /// Big coordinate of each group, minus the sum of all small coordinates before the group.
    bases: [Row; CHUNK + WIDTH],
    /// Rows of the atoms, used if all atoms are selected.
    rows: Rows,
}

impl Default for Flat {
    fn default() -> Self {
        Flat {
            small_bits: [0; SMALLS],
            small_indices: [0; SMALLS],
            atoms: [0; ATOMS],
            starts: [0; CHUNK],
            sums: [[0; 4]; SMALLS + 2 * WIDTH],
            bases: [[0; 4]; CHUNK + WIDTH],
            rows: Rows::default(),
        }
    }
}

/// Lengths of the lists of a chunk, and the range of its small indices.
struct Listed {
    n_smalls: usize,
    n_atoms: usize,
    /// Smallest small index of the groups.
    least: u8,
    /// Largest small index of the groups.
    widest: u8,
}

/// Size of the window of small indices that contains those of most chunks. Two vectors hold it.
const WINDOW: usize = 2 * WIDTH;

/// Radix of each small index, its reciprocal rounded up, and half the radix rounded down, with room for a window after
/// them.
static RADICES: [[f64; 73 + WINDOW]; 3] = {
    let mut table = [[0.0; 73 + WINDOW]; 3];
    let mut index = 9;
    while index < 73 {
        table[0][index] = SMALL_RADICES[index] as f64;
        table[1][index] = reciprocal(SMALL_RADICES[index] as f64);
        table[2][index] = (SMALL_RADICES[index] / 2) as f64;
        index += 1;
    }
    table
};

/// Multiples of each small index, at which the small coordinates of a run start.
static MULTIPLES: [[u32; WIDTH]; 128] = {
    let mut table = [[0; WIDTH]; 128];
    let mut index = 0;
    while index < 128 {
        let mut k = 0;
        while k < WIDTH {
            table[index][k] = (index * k) as u32;
            k += 1;
        }
        index += 1;
    }
    table
};

/// Masks of the lanes that hold the first `n` of eight numbers, if even lanes hold the first four numbers and odd lanes
/// the others.
const FIRST_PLACES: [u8; WIDTH + 1] = [0x00, 0x01, 0x05, 0x15, 0x55, 0x57, 0x5f, 0x7f, 0xff];

impl Flat {
    /// Gathers as [`super::Gather::gather`] does, for packed numbers of up to [`MAX_BITS`] bits. Returns `None` if
    /// there are wider numbers.
    ///
    /// # Safety
    /// The processor must have AVX-512 F, BW, DQ and VL. There must be at most [`CHUNK`] groups. In addition, the
    /// conditions of [`super::Gather::gather`] apply.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    pub(crate) unsafe fn gather<const ALL: bool>(
        &mut self,
        frame: &Coded<'_>,
        groups: &[Group],
        columns: &mut ColumnsMut<'_>,
        at: usize,
    ) -> Option<usize> {
        let Some(first) = groups.first() else { return Some(0) };
        if matches!(frame.big, Big::Fields(_)) || frame.big.bits() > MAX_BITS {
            return None;
        }
        let origin = first.bit() & !7;
        let listed = self.list::<ALL>(frame, groups, origin);
        if u32::from(listed.widest) > MAX_BITS {
            return None;
        }
        // SAFETY: the groups come from a walk over `data`.
        let bytes = unsafe { frame.data().add((origin >> 3) as usize) };
        if usize::from(listed.widest - listed.least) < WINDOW {
            self.sum_smalls::<true>(bytes, listed.n_smalls, listed.least);
        } else {
            self.sum_smalls::<false>(bytes, listed.n_smalls, 0);
        }
        self.unpack_bigs(frame, bytes, groups, origin);
        if ALL {
            return Some(self.finish_whole(frame.inverse_precision, groups, columns, at));
        }
        let n = listed.n_atoms.min(columns.x.len() - at);
        self.finish(frame.inverse_precision, n, columns, at);
        Some(n)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    fn list<const ALL: bool>(&mut self, frame: &Coded<'_>, groups: &[Group], origin: u64) -> Listed {
        let big_bits = frame.big.bits();
        let (mut n_smalls, mut n_atoms) = (0, 0);
        let (mut least, mut widest) = (u8::MAX, 0);
        for (g, &group) in groups.iter().enumerate().take(CHUNK) {
            let (run, index) = (group.run(), group.small_index());
            // Without a run, the big coordinate is the first atom of its group. With a run, it is the second.
            let alone = usize::from(run == 0);
            let wanted = group.wanted() << alone;
            let needed = if ALL {
                run
            } else {
                // This is the largest number of small coordinates that a selected atom needs. The value 2 selects only
                // the big coordinate, which needs none.
                [wanted as usize & 1, 31 - (wanted | 1).leading_zeros() as usize][usize::from(wanted >= 4)]
            };
            let start = (group.bit() - origin) as u32 + big_bits + group.control_bits();
            self.starts[g] = n_smalls as u16;
            let atom = (g << 16 | n_smalls) as u32;
            // SAFETY: a group adds at most `MAX_RUN` small coordinates and `MAX_RUN + 1` atoms to the lists, a chunk
            // has at most `CHUNK` groups, and there is room for two more stores.
            unsafe {
                let multiples = _mm256_loadu_si256(MULTIPLES[usize::from(index)].as_ptr().cast());
                let bits = self.small_bits.as_mut_ptr().add(n_smalls);
                let indices = self.small_indices.as_mut_ptr().add(n_smalls);
                let starts = _mm256_add_epi32(multiples, _mm256_set1_epi32(start as i32));
                _mm256_storeu_si256(bits.cast(), starts);
                indices.cast::<[u8; WIDTH]>().write([index; WIDTH]);
                if needed > WIDTH {
                    let more = _mm256_add_epi32(starts, _mm256_set1_epi32(WIDTH as i32 * i32::from(index)));
                    _mm256_storeu_si256(bits.add(WIDTH).cast(), more);
                    indices.add(WIDTH).cast::<[u8; WIDTH]>().write([index; WIDTH]);
                }
            }
            if !ALL {
                let mut rest = wanted;
                while rest != 0 {
                    let k = rest.trailing_zeros();
                    rest &= rest - 1;
                    self.atoms[n_atoms] = atom + if k < 2 { 1 - k } else { k };
                    n_atoms += 1;
                }
            }
            n_smalls += needed;
            (least, widest) = (least.min(index), widest.max(index));
        }
        Listed { n_smalls, n_atoms, least, widest }
    }

    /// Unpacks the listed small coordinates and computes their prefix sums. With `NARROW`, their indices lie within a
    /// window from `least` on, so that the constants of each index come from registers.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sum_smalls<const NARROW: bool>(&mut self, bytes: *const u8, n: usize, least: u8) {
        let first = _mm512_set1_epi64(i64::from(least));
        // SAFETY: the tables have room for a window after the largest index.
        let window = RADICES.each_ref().map(|table| unsafe {
            let from = table.as_ptr().add(usize::from(least));
            (_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(WIDTH)))
        });
        // Even lanes take the first four numbers and odd lanes the other four, so that the rows come out in order.
        let places = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let bytes_of_places = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, -1, -1, -1, -1, -1, -1, -1, -1);
        let mut sum = _mm512_setzero_si512();
        for at in (0..n).step_by(WIDTH) {
            let mask = FIRST_PLACES[(n - at).min(WIDTH)];
            // SAFETY: the lists have room for a vector after their last entry.
            let (bits, index) = unsafe {
                let bits = _mm256_loadu_si256(self.small_bits.as_ptr().add(at).cast());
                let index = _mm_loadl_epi64(self.small_indices.as_ptr().add(at).cast());
                (_mm256_permutevar8x32_epi32(bits, places), _mm_shuffle_epi8(index, bytes_of_places))
            };
            let (bits, index) = (_mm512_cvtepu32_epi64(bits), _mm512_maskz_cvtepu8_epi64(mask, index));
            let [radix, inverse, half] = if NARROW {
                let index = _mm512_sub_epi64(index, first);
                window.map(|(low, high)| _mm512_permutex2var_pd(low, index, high))
            } else {
                // SAFETY: valid indices are at most 72, and the others are 0.
                RADICES.each_ref().map(|table| unsafe { _mm512_i64gather_pd::<8>(index, table.as_ptr()) })
            };
            // SAFETY: the numbers lie within the frame.
            let value = unsafe { load_numbers(bytes, bits, index, mask) };
            let by_square = _mm512_mul_round_pd::<UP>(inverse, inverse);
            let parts = split(value, _mm512_mul_pd(radix, radix), by_square, radix, inverse);
            let [first_four, last_four] = rows(parts.map(|c| _mm512_sub_pd(c, half)));
            let first_four = running_sums(first_four, sum);
            let last_four = running_sums(last_four, last_row(first_four));
            sum = last_row(last_four);
            // SAFETY: `at` is less than `n`, and `sums` has room for two vectors more than the small coordinates of a
            // chunk.
            unsafe {
                let place = self.sums.as_mut_ptr().add(at + 1);
                _mm512_storeu_si512(place.cast(), first_four);
                _mm512_storeu_si512(place.add(4).cast(), last_four);
            }
        }
    }

    /// Unpacks the big coordinates of all groups.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn unpack_bigs(&mut self, frame: &Coded<'_>, bytes: *const u8, groups: &[Group], origin: u64) {
        let sizes = frame.sizes;
        let (yz, z) = (f64::from(sizes[1]) * f64::from(sizes[2]), f64::from(sizes[2]));
        let [size_yz, by_yz, size_z, by_z] = [yz, reciprocal(yz), z, reciprocal(z)].map(|v| _mm512_set1_pd(v));
        let width = _mm512_set1_epi64(i64::from(frame.big.bits()));
        let min = _mm_setr_epi32(frame.min[0], frame.min[1], frame.min[2], 0);
        for at in (0..groups.len()).step_by(WIDTH) {
            let n = (groups.len() - at).min(WIDTH);
            let mask = valid(n);
            // SAFETY: the mask keeps the load within `groups`, and the bits lie within the frame.
            let value = unsafe {
                let words = _mm512_maskz_loadu_epi64(mask, groups.as_ptr().add(at).cast());
                let bit = _mm512_and_si512(words, _mm512_set1_epi64((1 << Group::INDEX) - 1));
                load_numbers(bytes, _mm512_sub_epi64(bit, _mm512_set1_epi64(origin as i64)), width, mask)
            };
            let [even, odd] = rows(split(value, size_yz, by_yz, size_z, by_z)).map(|four| each_row(four));
            let rows = [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]];
            for (k, row) in rows.into_iter().enumerate().take(n) {
                let start = usize::from(self.starts[(at + k) % CHUNK]);
                // SAFETY: `start` is the index of a small coordinate of the chunk, and `at + k` is that of a group.
                unsafe {
                    let before = _mm_loadu_si128(self.sums.as_ptr().add(start).cast());
                    let base = _mm_sub_epi32(_mm_add_epi32(row, min), before);
                    _mm_storeu_si128(self.bases.as_mut_ptr().add(at + k).cast(), base);
                }
            }
        }
    }

    /// Writes the first `n` listed atoms, in Å.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn finish(&self, inverse_precision: f32, n: usize, columns: &mut ColumnsMut<'_>, at: usize) {
        let row = |i: usize| {
            let atom = self.atoms[i];
            // SAFETY: the lists hold indices of groups and of small coordinates of the chunk.
            unsafe {
                let base = _mm_loadu_si128(self.bases.as_ptr().add((atom >> 16) as usize).cast());
                let sum = _mm_loadu_si128(self.sums.as_ptr().add((atom & 0xffff) as usize).cast());
                _mm_add_epi32(base, sum)
            }
        };
        let (inverse, factor) = (_mm_set1_ps(inverse_precision), _mm_set1_ps(ANGSTROM_PER_NANOMETRE));
        let scaled = |i: usize| _mm_mul_ps(_mm_mul_ps(_mm_cvtepi32_ps(row(i)), inverse), factor);
        let whole = n & !3;
        for i in (0..whole).step_by(4) {
            let (mut x, mut y, mut z, mut rest) = (scaled(i), scaled(i + 1), scaled(i + 2), scaled(i + 3));
            _MM_TRANSPOSE4_PS(&mut x, &mut y, &mut z, &mut rest);
            let place = at + i..at + i + 4;
            for (column, four) in [(&mut columns.x, x), (&mut columns.y, y), (&mut columns.z, z)] {
                // SAFETY: the slice has four places.
                unsafe { _mm_storeu_ps(column[place.clone()].as_mut_ptr(), four) };
            }
        }
        for i in whole..n {
            let mut c = [0; 4];
            // SAFETY: `c` has room for four words.
            unsafe { _mm_storeu_si128(c.as_mut_ptr().cast(), row(i)) };
            columns.x[at + i] = angstrom(c[0], inverse_precision);
            columns.y[at + i] = angstrom(c[1], inverse_precision);
            columns.z[at + i] = angstrom(c[2], inverse_precision);
        }
    }
}

/// Returns a mask of the first `n` of eight lanes.
fn valid(n: usize) -> u8 {
    if n >= WIDTH { 0xff } else { (1 << n) - 1 }
}
