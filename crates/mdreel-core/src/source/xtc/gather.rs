//! Gathering of the coordinates of the selected atoms from the groups of a chunk.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod numbers;

use super::coded::{Big, Coded};
use super::control::{CHUNK, Group, MAX_RUN};
use super::radix::{MAX_WORD_BITS, SMALL, SMALL_RADICES, unpack_wide};
use crate::frame::ColumnsMut;
use crate::simd::Level;
pub(super) use numbers::angstrom;

/// Capacity for the atoms of a chunk, plus one place for an unselected atom that is written after the last selected
/// one.
const ATOMS: usize = CHUNK * (MAX_RUN + 1) + 1;

/// Gatherer of atoms, which reuses its memory.
#[derive(Debug)]
pub(crate) struct Gather {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is one way only"))]
    level: Level,
    integers: Box<Integers>,
    #[cfg(target_arch = "x86_64")]
    flat: Box<avx512::Flat>,
    #[cfg(target_arch = "x86_64")]
    bigs: Box<avx2::Bigs>,
}

impl Gather {
    /// Creates a gatherer that uses the vector instructions of `level`.
    pub(crate) fn new(level: Level) -> Self {
        Gather {
            level,
            integers: Box::new(Integers { x: [0; ATOMS], y: [0; ATOMS], z: [0; ATOMS] }),
            #[cfg(target_arch = "x86_64")]
            flat: Box::default(),
            #[cfg(target_arch = "x86_64")]
            bigs: Box::default(),
        }
    }

    /// Writes the selected atoms of `groups` into `columns`, in Å, from the `at`-th atom on. Returns the number of
    /// atoms written. Atoms beyond the end of the columns are omitted, because the last group may extend beyond the
    /// last selected atom.
    ///
    /// # Safety
    /// A walk over `frame` must have found all `groups`, in this order.
    ///
    /// # Panics
    /// Panics if there are more groups than a walk finds at a time, if the columns have different lengths, or if they
    /// end before the `at`-th atom. The function writes to memory based on these numbers.
    pub(crate) unsafe fn gather<const ALL: bool>(
        &mut self,
        frame: &Coded<'_>,
        groups: &[Group],
        columns: &mut ColumnsMut<'_>,
        at: usize,
    ) -> usize {
        assert!(groups.len() <= CHUNK, "{} groups: a chunk has {CHUNK} at most", groups.len());
        let n_places = columns.x.len();
        assert!(
            columns.y.len() == n_places && columns.z.len() == n_places && at <= n_places,
            "no places from {at} on in columns of {n_places}, {} and {}",
            columns.y.len(),
            columns.z.len()
        );
        #[cfg(target_arch = "x86_64")]
        if self.level.is_avx512() {
            // SAFETY: the level guarantees that the processor has these instructions. The caller vouches for the
            // groups.
            if let Some(n) = unsafe { self.flat.gather::<ALL>(frame, groups, columns, at) } {
                return n;
            }
        } else if self.level.is_avx2() {
            // SAFETY: as above.
            if let Some(n) = unsafe { self.bigs.gather::<ALL>(frame, groups, columns, at) } {
                return n;
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level guarantees that the processor has the instructions. The caller vouches for the groups.
        let n = unsafe {
            if self.level.is_avx2() {
                self.integers.gather_avx2::<ALL>(frame, groups)
            } else {
                self.integers.gather_portable::<ALL>(frame, groups)
            }
        };
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the caller vouches for the groups.
        let n = unsafe { self.integers.gather_portable::<ALL>(frame, groups) };
        let n = n.min(columns.x.len() - at);
        let integers = [&self.integers.x, &self.integers.y, &self.integers.z];
        for (source, target) in integers.into_iter().zip([&mut columns.x, &mut columns.y, &mut columns.z]) {
            for (value, place) in source[..n].iter().zip(&mut target[at..at + n]) {
                *place = angstrom(*value, frame.inverse_precision);
            }
        }
        n
    }
}

/// Integer coordinates of one chunk.
#[derive(Debug)]
struct Integers {
    x: [i32; ATOMS],
    y: [i32; ATOMS],
    z: [i32; ATOMS],
}

impl Integers {
    /// Runs the portable code, compiled with the shifts of BMI2.
    ///
    /// # Safety
    /// The same as for [`Integers::gather_portable`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn gather_avx2<const ALL: bool>(&mut self, frame: &Coded<'_>, groups: &[Group]) -> usize {
        // SAFETY: the caller meets the same conditions.
        unsafe { self.gather_portable::<ALL>(frame, groups) }
    }

    /// Decodes with code that runs on every processor.
    ///
    /// # Safety
    /// The same as for [`Gather::gather`]. There must be at most [`CHUNK`] groups.
    #[inline(always)]
    unsafe fn gather_portable<const ALL: bool>(&mut self, frame: &Coded<'_>, groups: &[Group]) -> usize {
        // SAFETY: the caller vouches for the groups, and `gather` passes only their bits to the closures.
        unsafe {
            match (&frame.big, frame.radix()) {
                (Big::Packed(_), Some(radix)) => {
                    let radix = *radix;
                    self.gather::<ALL>(frame, groups, |bit| frame.word(&radix, bit))
                }
                (Big::Packed(bits), None) => self.gather::<ALL>(frame, groups, |bit| frame.wide(*bits, bit)),
                (Big::Fields(bits), _) => self.gather::<ALL>(frame, groups, |bit| frame.fields(*bits, bit)),
            }
        }
    }

    /// Decodes the selected atoms of `groups` and returns their number. The function also writes each unselected atom,
    /// and then overwrites it with the next atom, because this is cheaper than a branch.
    ///
    /// # Safety
    /// The same as for [`Integers::gather_portable`].
    #[inline(always)]
    unsafe fn gather<const ALL: bool>(
        &mut self,
        frame: &Coded<'_>,
        groups: &[Group],
        big: impl Fn(u64) -> [i32; 3],
    ) -> usize {
        // SAFETY: a walk over the frame has found each group, and the loop below reads only the small coordinates of a
        // group.
        let small = |index, bit| unsafe { small(frame, index, bit) };
        // SAFETY: there are at most `CHUNK` groups of at most `MAX_RUN + 1` atoms, and there is one more place.
        let put = |of: &mut Self, n, c| unsafe { of.put(n, c) };
        let big_bits = u64::from(frame.big.bits());
        let mut n = 0;
        for &group in groups {
            let (run, wanted) = (group.run(), group.wanted());
            let first = big(group.bit());
            if run == 0 {
                put(self, n, first);
                n += 1;
                continue;
            }
            let index = group.small_index();
            let mut bit = group.bit() + big_bits + u64::from(group.control_bits());
            // The first small coordinate belongs before the big one. The others follow it.
            let mut atom = if ALL || wanted != 2 { add(first, small(index, bit)) } else { first };
            put(self, n, atom);
            n += if ALL { 1 } else { (wanted & 1) as usize };
            put(self, n, first);
            n += if ALL { 1 } else { (wanted >> 1 & 1) as usize };
            let last = if ALL { run as u32 + 1 } else { 32 - wanted.leading_zeros() };
            for k in 2..last {
                bit += u64::from(index);
                atom = add(atom, small(index, bit));
                put(self, n, atom);
                n += if ALL { 1 } else { (wanted >> k & 1) as usize };
            }
        }
        n
    }

    /// Stores the coordinates of the `n`-th atom.
    ///
    /// # Safety
    /// `n` must be less than [`ATOMS`].
    #[inline(always)]
    unsafe fn put(&mut self, n: usize, c: [i32; 3]) {
        debug_assert!(n < ATOMS);
        // SAFETY: the caller guarantees that `n` is less than `ATOMS`.
        unsafe {
            *self.x.get_unchecked_mut(n) = c[0];
            *self.y.get_unchecked_mut(n) = c[1];
            *self.z.get_unchecked_mut(n) = c[2];
        }
    }
}

/// Returns the difference that is stored as a small coordinate at `bit`.
///
/// # Safety
/// The coordinate must belong to a group that a walk over the frame has found.
#[inline(always)]
unsafe fn small(frame: &Coded<'_>, index: u8, bit: u64) -> [i32; 3] {
    let small = &SMALL[index as usize];
    let c = if u32::from(index) <= MAX_WORD_BITS {
        // SAFETY: the small coordinates of groups lie within the frame's bytes, and the margin covers the load.
        unsafe { small.radix.unpack(frame.data(), bit) }
    } else {
        let sizes = [SMALL_RADICES[usize::from(index) % SMALL_RADICES.len()]; 3];
        // SAFETY: the same as above.
        unsafe { unpack_wide(frame.data(), bit, sizes, u32::from(index)) }
    };
    c.map(|v| v.wrapping_sub(small.half))
}

#[inline(always)]
fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1]), a[2].wrapping_add(b[2])]
}

#[cfg(test)]
mod tests;
