//! Decoding: from a frame's compressed bytes to the coordinates of the wanted atoms.

use std::cell::OnceCell;

use super::control::{End, Groups, LANES, Walks, Wanted, walk};
use super::gather::Gather;
use super::header::{Compression, Fault};
use super::radix::{Radix, packed_bits, unpack_field, unpack_wide};
use crate::frame::ColumnsMut;
use crate::simd::Level;
use crate::source::bytes::MARGIN;

/// Components wider than this are stored as three separate fields.
const MAX_PACKED_SIZE: u32 = 0xff_ffff;

/// How a frame's big coordinates are packed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Big {
    /// A mixed-radix number of so many bits.
    Packed(u32),
    /// Three fields of their own.
    Fields([u32; 3]),
}

impl Big {
    fn new(sizes: [u32; 3]) -> Self {
        if sizes.iter().any(|&size| size > MAX_PACKED_SIZE) {
            return Big::Fields(sizes.map(|size| 32 - size.leading_zeros()));
        }
        Big::Packed(packed_bits(sizes))
    }

    /// Bits that a big coordinate takes.
    pub fn bits(&self) -> u32 {
        match self {
            Big::Packed(bits) => *bits,
            Big::Fields(bits) => bits.iter().sum(),
        }
    }
}

/// A frame to be decoded.
#[derive(Debug)]
pub struct Coded<'a> {
    /// The compressed bytes and the margin behind them.
    bytes: &'a [u8],
    whole: bool,
    pub(super) min: [i32; 3],
    pub(super) sizes: [u32; 3],
    pub(super) big: Big,
    /// How to take apart a packed big coordinate that fits one load; made when it is first asked for.
    radix: OnceCell<Option<Radix>>,
    small_index: u32,
    pub(super) inverse_precision: f32,
    n_atoms: u64,
}

impl<'a> Coded<'a> {
    /// A frame with these parameters and these compressed bytes, or the first of them. `bytes` ends with [`MARGIN`]
    /// bytes that are not the frame's.
    pub fn new(compression: &Compression, n_atoms: usize, bytes: &'a [u8]) -> Self {
        let n_bytes = (bytes.len() - MARGIN).min(usize::try_from(compression.n_bytes).unwrap_or(usize::MAX));
        Coded {
            bytes: &bytes[..n_bytes + MARGIN],
            whole: n_bytes as u64 == compression.n_bytes,
            min: compression.min,
            sizes: compression.sizes,
            big: Big::new(compression.sizes),
            radix: OnceCell::new(),
            small_index: compression.small_index,
            inverse_precision: (1.0 / f64::from(compression.precision)) as f32,
            n_atoms: n_atoms as u64,
        }
    }

    /// Begins the walk over its groups.
    pub fn begin(&self, walks: &mut Walks<'a>, lane: usize) {
        walks.begin(lane, self.bytes, self.big.bits(), self.small_index);
    }

    /// Where its compressed bytes start; [`MARGIN`] bytes are readable behind them.
    #[inline(always)]
    pub(super) fn data(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    fn judge(&self, (end, bit, atom): (End, u64, u64)) -> Decoded {
        let corrupt = |message: String| Decoded::Corrupt(Fault::new(bit / 8, message));
        match end {
            End::Overrun if !self.whole => Decoded::NeedsMore,
            End::Overrun => {
                let n_bytes = self.bytes.len() - MARGIN;
                corrupt(format!("the {n_bytes} compressed bytes end in the middle of a group of atoms"))
            }
            End::SmallIndex => corrupt("the small index leaves its range, 9 to 72".into()),
            End::Reached if atom > self.n_atoms => {
                corrupt(format!("a run of atoms ends at atom {atom}, but the frame has {} atoms", self.n_atoms))
            }
            End::Reached => Decoded::Whole(bit.div_ceil(8)),
        }
    }

    #[inline(always)]
    fn offset(&self, c: [i32; 3]) -> [i32; 3] {
        [c[0].wrapping_add(self.min[0]), c[1].wrapping_add(self.min[1]), c[2].wrapping_add(self.min[2])]
    }

    /// How to take apart its big coordinates, if they are packed and fit one load.
    pub(super) fn radix(&self) -> Option<&Radix> {
        self.radix.get_or_init(|| Radix::new(self.sizes, self.big.bits())).as_ref()
    }

    /// The big coordinate at `bit`, for a radix.
    #[inline(always)]
    pub(super) fn word(&self, radix: &Radix, bit: u64) -> [i32; 3] {
        // SAFETY: groups come from a walk over `bytes`, and the margin covers the load.
        self.offset(unsafe { radix.unpack(self.data(), bit) })
    }

    /// The same, for packed ones that have no radix.
    pub(super) fn wide(&self, bits: u32, bit: u64) -> [i32; 3] {
        // SAFETY: as for `word`.
        self.offset(unsafe { unpack_wide(self.data(), bit, self.sizes, bits) })
    }

    /// The same, for [`Big::Fields`].
    pub(super) fn fields(&self, bits: [u32; 3], bit: u64) -> [i32; 3] {
        let starts = [bit, bit + u64::from(bits[0]), bit + u64::from(bits[0] + bits[1])];
        // SAFETY: as for `word`.
        self.offset([0, 1, 2].map(|axis| unsafe { unpack_field(self.data(), starts[axis], bits[axis]) }))
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
#[derive(Debug)]
pub struct Decoder {
    level: Level,
    groups: Box<Groups>,
    gather: Gather,
}

impl Decoder {
    /// With the vector instructions of `level`.
    pub fn new(level: Level) -> Self {
        Decoder { level, groups: Box::default(), gather: Gather::new(level) }
    }

    /// Decodes the wanted atoms of up to [`LANES`] frames into their columns, in Å.
    pub fn decode(
        &mut self,
        wanted: &Wanted,
        frames: &[Coded<'_>],
        columns: &mut [ColumnsMut<'_>],
        ends: &mut Vec<Decoded>,
    ) {
        debug_assert!(frames.len() <= LANES && frames.len() == columns.len());
        let mut walks = Walks::none();
        for (lane, frame) in frames.iter().enumerate() {
            frame.begin(&mut walks, lane);
        }
        let mut filled = [0; LANES];
        while !walks.are_over(wanted) {
            if wanted.all {
                walk::<true>(self.level, &mut walks, wanted, &mut self.groups);
            } else {
                walk::<false>(self.level, &mut walks, wanted, &mut self.groups);
            }
            for (lane, (frame, columns)) in frames.iter().zip(columns.iter_mut()).enumerate() {
                let groups = self.groups.lane(lane);
                filled[lane] += if wanted.all {
                    self.gather.gather::<true>(frame, groups, columns, filled[lane])
                } else {
                    self.gather.gather::<false>(frame, groups, columns, filled[lane])
                };
            }
        }
        ends.clear();
        ends.extend(frames.iter().enumerate().map(|(lane, frame)| frame.judge(walks.end(lane))));
    }
}
