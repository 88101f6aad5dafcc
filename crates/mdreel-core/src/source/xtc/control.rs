//! Control pass, which finds the start of each group of atoms without decoding coordinates.
//!
//! A group consists of a big coordinate, a flag bit, and a run of small coordinates. If the flag is set, five more bits
//! follow it, which contain the run length and the change of the small index. The position of the next group depends
//! only on these few bits. Each step depends on the previous one through memory, so a single walk leaves the processor
//! idle most of the time. The pass therefore walks through several frames side by side.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod skip;
mod walk;

use std::marker::PhantomData;

use super::radix::SMALL_INDICES;
use crate::source::bytes::MARGIN;

pub(crate) use walk::walk;

/// Number of frames that are walked side by side.
pub(crate) const LANES: usize = 16;
/// Maximum number of groups that a call of [`walk()`] finds in each frame. This many groups fit the first-level cache.
pub(crate) const CHUNK: usize = 96;
/// Number of steps between two tests of whether all walks are over.
const STRIDE: usize = 16;
/// Maximum number of bits of a big coordinate: three fields of 32 bits.
const MAX_BIG_BITS: u32 = 96;
/// Maximum run length that five bits can encode. A valid encoder writes at most 8.
pub(crate) const MAX_RUN: usize = 10;

/// A group with selected atoms, packed into one word. From the lowest bit up, 40 bits hold the start of its big
/// coordinate, 7 the small index, 4 the run length, 1 the flag and 11 the selected atoms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Group(u64);

impl Group {
    pub(super) const INDEX: u32 = 40;
    const RUN: u32 = 47;
    const FLAG: u32 = 51;
    pub(super) const WANTED: u32 = 52;

    /// Returns the bit at which the big coordinate starts.
    #[inline(always)]
    pub(crate) fn bit(self) -> u64 {
        self.0 & ((1 << Self::INDEX) - 1)
    }

    /// Returns the small index of the run.
    #[inline(always)]
    pub(crate) fn small_index(self) -> u8 {
        (self.0 >> Self::INDEX) as u8 & 0x7f
    }

    /// Returns the number of small coordinates.
    #[inline(always)]
    pub(crate) fn run(self) -> usize {
        (self.0 >> Self::RUN) as usize & 0xf
    }

    /// Returns the number of bits between the big coordinate and the small ones: 1 or 6.
    #[inline(always)]
    pub(crate) fn control_bits(self) -> u32 {
        1 + 5 * ((self.0 >> Self::FLAG) as u32 & 1)
    }

    /// Returns the selected atoms: bit `k` is set if the `k`-th atom of the group is selected.
    #[inline(always)]
    pub(crate) fn wanted(self) -> u32 {
        (self.0 >> Self::WANTED) as u32
    }
}

/// Bit map of the selected atoms, which gives the selected atoms of a group in one step.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Bit map, longer than needed by more than eight bytes, so that a complete word can be loaded for any atom.
    bits: Vec<u8>,
    /// Index of the first selected atom.
    first: u64,
    /// Index of the last selected atom, plus 1. The walk stops at this atom, and reads `bits` up to it without a bounds
    /// check.
    limit: u64,
    /// Whether every atom before `limit` is selected.
    pub all: bool,
}

impl Wanted {
    /// Creates the map of ascending `indices`.
    pub(crate) fn new(indices: &[u32]) -> Self {
        let limit = indices.last().map_or(0, |&last| u64::from(last) + 1);
        let mut bits = vec![0; limit as usize / 8 + 16];
        for &index in indices {
            bits[index as usize / 8] |= 1 << (index % 8);
        }
        let first = indices.first().map_or(0, |&first| u64::from(first));
        Wanted { bits, first, limit, all: limit == indices.len() as u64 }
    }

    /// Returns the number of atoms from `atom` on that precede the next selected atom. `atom` must be less than
    /// `limit`. The search stops after `enough` atoms, and the result is then a lower bound.
    fn distance(&self, atom: u64, enough: u64) -> u64 {
        if atom < self.first {
            return self.first - atom;
        }
        let mut at = atom;
        while at < atom + enough {
            // SAFETY: `at < limit`, because the bit of `limit - 1` is set. `bits` holds `limit / 8 + 16` bytes.
            let word = unsafe { self.bits.as_ptr().add((at >> 3) as usize).cast::<u64>().read_unaligned() };
            let rest = u64::from_le(word) >> (at & 7);
            if rest != 0 {
                return at + u64::from(rest.trailing_zeros()) - atom;
            }
            at = (at & !7) + 64;
        }
        enough
    }

    /// Returns the selected atoms among the `run + 1` atoms from `atom` on, with `atom <= limit` and `run <= MAX_RUN`.
    #[inline(always)]
    fn of_group(&self, atom: u64, run: u64) -> u64 {
        // SAFETY: `bits` holds `limit / 8 + 16` bytes, and `atom` does not exceed `limit`.
        let word = unsafe { self.bits.as_ptr().add((atom >> 3) as usize).cast::<u32>().read_unaligned() };
        u64::from(u32::from_le(word) >> (atom & 7)) & ((2 << run) - 1)
    }
}

/// Reason why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The walk has reached the last selected atom.
    Reached,
    /// The next group does not fit into the remaining bits.
    Overrun,
    /// The small index has left its range.
    SmallIndex,
}

/// State of the walks over up to [`LANES`] frames, with one array per variable.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Walks<'a> {
    data: [*const u8; LANES],
    bytes: PhantomData<&'a [u8]>,
    end_bit: [u64; LANES],
    big_bits: [u64; LANES],
    bit: [u64; LANES],
    atom: [u64; LANES],
    run: [u64; LANES],
    small_index: [u64; LANES],
    end: [End; LANES],
}

/// Atom index that marks a walk as over.
const NOWHERE: u64 = u64::MAX;

impl<'a> Walks<'a> {
    /// Creates walks without frames, which are over from the start.
    pub(crate) fn none() -> Self {
        static ZEROS: [u8; 16] = [0; 16];
        Walks {
            data: [ZEROS.as_ptr(); LANES],
            bytes: PhantomData,
            end_bit: [0; LANES],
            big_bits: [0; LANES],
            bit: [0; LANES],
            atom: [NOWHERE; LANES],
            run: [0; LANES],
            small_index: [u64::from(*SMALL_INDICES.start()); LANES],
            end: [End::Reached; LANES],
        }
    }

    /// Begins the walk over the compressed bytes of a frame whose big coordinates have `big_bits` bits, at most 96. The
    /// last [`MARGIN`] bytes of `bytes` do not belong to the frame.
    ///
    /// # Panics
    /// Panics if `bytes` is shorter than the margin, or if `lane`, `big_bits` or `small_index` is out of range. The
    /// walk uses these numbers to address memory.
    pub(crate) fn begin(&mut self, lane: usize, bytes: &'a [u8], big_bits: u32, small_index: u32) {
        assert!(bytes.len() >= MARGIN, "{} bytes, fewer than the margin of {MARGIN}", bytes.len());
        assert!(big_bits <= MAX_BIG_BITS, "big coordinates of {big_bits} bits");
        assert!(SMALL_INDICES.contains(&small_index), "small index {small_index}");
        self.data[lane] = bytes.as_ptr();
        self.end_bit[lane] = 8 * (bytes.len() - MARGIN) as u64;
        self.big_bits[lane] = u64::from(big_bits);
        self.bit[lane] = 0;
        self.atom[lane] = 0;
        self.run[lane] = 0;
        self.small_index[lane] = u64::from(small_index);
    }

    fn lane(&self, lane: usize) -> Lane {
        Lane {
            data: self.data[lane],
            end_bit: self.end_bit[lane],
            big_bits: self.big_bits[lane],
            bit: self.bit[lane],
            atom: self.atom[lane],
            run: self.run[lane],
            small_index: self.small_index[lane],
            count: 0,
        }
    }

    /// Returns whether all walks have passed the last selected atom.
    pub(crate) fn are_over(&self, wanted: &Wanted) -> bool {
        self.atom.iter().all(|&atom| atom >= wanted.limit)
    }

    /// Returns the reason why a walk ended, and the bit and the atom after its last group. The atom is `NOWHERE` if the
    /// walk failed.
    pub(crate) fn end(&self, lane: usize) -> (End, u64, u64) {
        (self.end[lane], self.bit[lane], self.atom[lane])
    }
}

/// State of one lane, which the compiler keeps in registers as far as possible.
#[derive(Clone, Copy)]
struct Lane {
    data: *const u8,
    end_bit: u64,
    big_bits: u64,
    bit: u64,
    atom: u64,
    run: u64,
    small_index: u64,
    count: usize,
}

/// Groups with selected atoms that a call of [`walk()`] found, for each lane.
#[derive(Debug)]
pub(crate) struct Groups {
    lanes: [[Group; CHUNK + 1]; LANES],
    counts: [u64; LANES],
}

impl Default for Groups {
    fn default() -> Self {
        Groups { lanes: [[Group::default(); CHUNK + 1]; LANES], counts: [0; LANES] }
    }
}

impl Groups {
    /// Returns the groups of one lane.
    pub(crate) fn lane(&self, lane: usize) -> &[Group] {
        &self.lanes[lane][..self.counts[lane] as usize]
    }
}

#[cfg(test)]
mod tests;
