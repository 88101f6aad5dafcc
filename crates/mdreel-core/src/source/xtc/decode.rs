//! Decoding: from groups to coordinates, of the wanted atoms and no others.

use super::control::{End, Groups, LANES, Walk, Wanted, walk};
use super::gather::Gather;
use super::header::{Compression, Fault};
use super::radix::{Radix, packed_bits, unpack_field, unpack_wide};
use crate::frame::ColumnsMut;
use crate::units::ANGSTROM_PER_NANOMETRE;

/// Components wider than this are stored as three separate fields.
const MAX_PACKED_SIZE: u32 = 0xff_ffff;

/// How a frame's big coordinates are packed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Big {
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

    pub fn bits(&self) -> u32 {
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
    pub(super) data: &'a [u8],
    whole: bool,
    min: [i32; 3],
    pub(super) big: Big,
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

    /// A walk over its groups.
    pub fn walk(&self) -> Walk {
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
    gather: Box<Gather>,
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
                let n = if wanted.all {
                    self.gather.gather::<true>(frame, groups)
                } else {
                    self.gather.gather::<false>(frame, groups)
                };
                // The last group may go on behind the last wanted atom.
                let n = n.min(columns[lane].x.len() - filled[lane]);
                scale(self.gather.columns(), frame.inverse_precision, &mut columns[lane], filled[lane], n);
                filled[lane] += n;
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
    pub(super) fn word(&self, radix: &Radix, bit: u64) -> [i32; 3] {
        // SAFETY: groups come from a walk over `data`, and the margin covers the load.
        self.offset(unsafe { radix.unpack(self.data.as_ptr(), bit) })
    }

    pub(super) fn wide(&self, sizes: [u32; 3], bits: u32, bit: u64) -> [i32; 3] {
        // SAFETY: as for `word`.
        self.offset(unsafe { unpack_wide(self.data.as_ptr(), bit, sizes, bits) })
    }

    pub(super) fn fields(&self, bits: [u32; 3], bit: u64) -> [i32; 3] {
        let starts = [bit, bit + u64::from(bits[0]), bit + u64::from(bits[0] + bits[1])];
        // SAFETY: as for `word`.
        self.offset([0, 1, 2].map(|axis| unsafe { unpack_field(self.data.as_ptr(), starts[axis], bits[axis]) }))
    }
}

/// Turns integer coordinates into Å. The two multiplications in float32 are those of the reference reader and of
/// MDAnalysis, so that the bits agree.
fn scale(integers: [&[i32]; 3], inverse_precision: f32, columns: &mut ColumnsMut<'_>, at: usize, n: usize) {
    for (source, target) in integers.into_iter().zip([&mut columns.x, &mut columns.y, &mut columns.z]) {
        for (value, place) in source[..n].iter().zip(&mut target[at..at + n]) {
            *place = *value as f32 * inverse_precision * ANGSTROM_PER_NANOMETRE;
        }
    }
}
