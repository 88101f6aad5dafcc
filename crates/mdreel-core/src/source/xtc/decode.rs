//! Decoding: from groups to coordinates, of the wanted atoms and no others.

use super::control::{CHUNK, End, Group, Groups, LANES, MAX_RUN, Walk, Wanted, walk};
use super::header::{Compression, Fault};
use super::radix::{MAX_WORD_BITS, Radix, SMALL, SMALL_RADICES, packed_bits, unpack_field, unpack_wide};
use crate::frame::ColumnsMut;
use crate::units::ANGSTROM_PER_NANOMETRE;

/// Components wider than this are stored as three separate fields.
const MAX_PACKED_SIZE: u32 = 0xff_ffff;

/// How a frame's big coordinates are packed.
#[derive(Debug, Clone, Copy)]
enum Big {
    /// A mixed-radix number that fits one load.
    Word(Radix),
    /// A mixed-radix number that does not, or with an axis of size 1.
    Wide { sizes: [u32; 3], bits: u32 },
    /// Three fields of their own.
    Fields([u32; 3]),
}

impl Big {
    fn new(sizes: [u32; 3]) -> Self {
        if sizes.iter().any(|&size| size > MAX_PACKED_SIZE) {
            return Big::Fields(sizes.map(|size| 32 - size.leading_zeros()));
        }
        let bits = packed_bits(sizes);
        Radix::new(sizes, bits).map_or(Big::Wide { sizes, bits }, Big::Word)
    }

    fn bits(&self) -> u32 {
        match self {
            Big::Word(radix) => radix.bits,
            Big::Wide { bits, .. } => *bits,
            Big::Fields(bits) => bits.iter().sum(),
        }
    }
}

/// A frame to be decoded.
#[derive(Debug)]
pub struct Coded<'a> {
    data: &'a [u8],
    whole: bool,
    min: [i32; 3],
    big: Big,
    small_index: u32,
    inverse_precision: f32,
    n_atoms: u64,
}

impl<'a> Coded<'a> {
    /// A frame with these parameters and these compressed bytes, or the first of them.
    ///
    /// # Safety
    /// [`crate::source::bytes::MARGIN`] bytes behind `data` must be readable too.
    pub unsafe fn new(compression: &Compression, n_atoms: usize, data: &'a [u8]) -> Self {
        Coded {
            data,
            whole: data.len() as u64 >= compression.n_bytes,
            min: compression.min,
            big: Big::new(compression.sizes),
            small_index: compression.small_index,
            inverse_precision: (1.0 / f64::from(compression.precision)) as f32,
            n_atoms: n_atoms as u64,
        }
    }

    fn walk(&self) -> Walk {
        // SAFETY: `new` was promised the margin.
        unsafe { Walk::new(self.data, self.big.bits(), self.small_index) }
    }
}

/// How the decoding of one frame went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// All wanted atoms are there; so many compressed bytes were needed.
    Whole(u64),
    /// The bytes given were only the first of the frame, and not enough.
    NeedsMore,
    /// The frame is corrupt; the byte is counted from the start of the compressed bytes.
    Corrupt(Fault),
}

/// Decodes frames; keeps its memory.
#[derive(Debug, Default)]
pub struct Decoder {
    groups: Box<Groups>,
    scratch: Scratch,
}

/// Integer coordinates of one chunk of groups.
#[derive(Debug)]
struct Scratch {
    x: Box<[i32]>,
    y: Box<[i32]>,
    z: Box<[i32]>,
}

impl Default for Scratch {
    fn default() -> Self {
        // One place more than atoms, since an atom that is not wanted is written before it is passed over.
        let column = || vec![0; CHUNK * (MAX_RUN + 1) + 1].into_boxed_slice();
        Scratch { x: column(), y: column(), z: column() }
    }
}

impl Decoder {
    /// Decodes the wanted atoms of up to [`LANES`] frames into their columns, in Å.
    pub fn decode(
        &mut self,
        wanted: &Wanted,
        frames: &[Coded<'_>],
        columns: &mut [ColumnsMut<'_>],
        ends: &mut Vec<Decoded>,
    ) {
        debug_assert!(frames.len() <= LANES && frames.len() == columns.len());
        let mut walks = [Walk::nothing(); LANES];
        for (walk, frame) in walks.iter_mut().zip(frames) {
            *walk = frame.walk();
        }
        let mut filled = [0; LANES];
        while !walks.iter().all(|walk| walk.is_over(wanted)) {
            if wanted.all {
                walk::<true>(&mut walks, wanted, &mut self.groups);
            } else {
                walk::<false>(&mut walks, wanted, &mut self.groups);
            }
            for (lane, frame) in frames.iter().enumerate() {
                let groups = self.groups.lane(lane);
                let n = match (wanted.all, frame.big) {
                    (true, Big::Word(radix)) => {
                        self.scratch.gather::<true>(frame, groups, |bit| frame.word(&radix, bit))
                    }
                    (false, Big::Word(radix)) => {
                        self.scratch.gather::<false>(frame, groups, |bit| frame.word(&radix, bit))
                    }
                    (_, Big::Wide { sizes, bits }) => {
                        self.scratch.gather::<false>(frame, groups, |bit| frame.wide(sizes, bits, bit))
                    }
                    (_, Big::Fields(bits)) => {
                        self.scratch.gather::<false>(frame, groups, |bit| frame.fields(bits, bit))
                    }
                };
                let room = columns[lane].x.len() - filled[lane];
                self.scratch.scale(n.min(room), frame.inverse_precision, &mut columns[lane], filled[lane]);
                filled[lane] += n.min(room);
            }
        }
        ends.clear();
        ends.extend(frames.iter().zip(&walks).map(|(frame, walk)| frame.judge(walk)));
    }
}

impl Coded<'_> {
    fn judge(&self, walk: &Walk) -> Decoded {
        match walk.end() {
            End::Overrun(_) if !self.whole => Decoded::NeedsMore,
            End::Overrun(bit) => Decoded::Corrupt(Fault::new(
                bit / 8,
                format!("the {} compressed bytes end in the middle of a group of atoms", self.data.len()),
            )),
            End::SmallIndex(bit) => Decoded::Corrupt(Fault::new(bit / 8, "the small index leaves its range, 9 to 72")),
            End::Reached if walk.atom() > self.n_atoms => Decoded::Corrupt(Fault::new(
                walk.bit() / 8,
                format!("a run of atoms ends at atom {}, but the frame has {} atoms", walk.atom(), self.n_atoms),
            )),
            End::Reached => Decoded::Whole(walk.bit().div_ceil(8)),
        }
    }

    #[inline(always)]
    fn offset(&self, c: [i32; 3]) -> [i32; 3] {
        [c[0].wrapping_add(self.min[0]), c[1].wrapping_add(self.min[1]), c[2].wrapping_add(self.min[2])]
    }

    #[inline(always)]
    fn word(&self, radix: &Radix, bit: u64) -> [i32; 3] {
        // SAFETY: groups come from a walk over `data`, and the margin covers the load.
        self.offset(unsafe { radix.unpack(self.data.as_ptr(), bit) })
    }

    fn wide(&self, sizes: [u32; 3], bits: u32, bit: u64) -> [i32; 3] {
        // SAFETY: as for `word`.
        self.offset(unsafe { unpack_wide(self.data.as_ptr(), bit, sizes, bits) })
    }

    fn fields(&self, bits: [u32; 3], bit: u64) -> [i32; 3] {
        let starts = [bit, bit + u64::from(bits[0]), bit + u64::from(bits[0] + bits[1])];
        // SAFETY: as for `word`.
        self.offset([0, 1, 2].map(|axis| unsafe { unpack_field(self.data.as_ptr(), starts[axis], bits[axis]) }))
    }

    /// The difference stored as a small coordinate at `bit`.
    #[inline(always)]
    fn small(&self, index: u8, bit: u64) -> [i32; 3] {
        let small = &SMALL[index as usize];
        let c = if u32::from(index) <= MAX_WORD_BITS {
            // SAFETY: as for `word`; a group's small coordinates lie within the frame.
            unsafe { small.radix.unpack(self.data.as_ptr(), bit) }
        } else {
            // SAFETY: as above.
            unsafe { unpack_wide(self.data.as_ptr(), bit, [SMALL_RADICES[index as usize]; 3], u32::from(index)) }
        };
        [c[0].wrapping_sub(small.half), c[1].wrapping_sub(small.half), c[2].wrapping_sub(small.half)]
    }
}

impl Scratch {
    /// Decodes the wanted atoms of `groups`; returns how many.
    #[inline(always)]
    fn gather<const ALL: bool>(&mut self, frame: &Coded<'_>, groups: &[Group], big: impl Fn(u64) -> [i32; 3]) -> usize {
        let mut n = 0;
        for group in groups {
            let wanted = group.wanted;
            let first = big(group.bit);
            if group.run == 0 {
                self.put(n, first);
                n += 1;
                continue;
            }
            let bits = u64::from(group.small_index);
            let mut bit = group.bit + frame.big.bits() as u64 + u64::from(group.control_bits);
            // The first small coordinate belongs before the big one; the others follow it.
            let mut atom = add(first, frame.small(group.small_index, bit));
            self.put(n, atom);
            n += if ALL { 1 } else { (wanted & 1) as usize };
            self.put(n, first);
            n += if ALL { 1 } else { (wanted >> 1 & 1) as usize };
            let last = if ALL { u32::from(group.run) + 1 } else { 32 - wanted.leading_zeros() };
            for k in 2..last {
                bit += bits;
                atom = add(atom, frame.small(group.small_index, bit));
                self.put(n, atom);
                n += if ALL { 1 } else { (wanted >> k & 1) as usize };
            }
        }
        n
    }

    #[inline(always)]
    fn put(&mut self, n: usize, c: [i32; 3]) {
        debug_assert!(n < self.x.len());
        // SAFETY: a chunk has at most CHUNK groups of MAX_RUN + 1 atoms, and there is one place more.
        unsafe {
            *self.x.get_unchecked_mut(n) = c[0];
            *self.y.get_unchecked_mut(n) = c[1];
            *self.z.get_unchecked_mut(n) = c[2];
        }
    }

    /// Turns the first `n` integer coordinates into Å. The two multiplications in float32 are those of the
    /// reference reader and of MDAnalysis, so that the bits agree.
    fn scale(&self, n: usize, inverse_precision: f32, columns: &mut ColumnsMut<'_>, at: usize) {
        for (source, target) in [(&self.x, &mut columns.x), (&self.y, &mut columns.y), (&self.z, &mut columns.z)] {
            for (value, place) in source[..n].iter().zip(&mut target[at..at + n]) {
                *place = *value as f32 * inverse_precision * ANGSTROM_PER_NANOMETRE;
            }
        }
    }
}

#[inline(always)]
fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1]), a[2].wrapping_add(b[2])]
}
