//! Frame before decoding: its compressed bytes and the packing of its big coordinates.

use std::cell::OnceCell;

use super::control::Walks;
use super::header::Compression;
use super::radix::{MAX_PACKED_SIZE, Radix, packed_bits, unpack_field, unpack_wide};
use crate::source::bytes::MARGIN;

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
    pub(crate) fn bits(&self) -> u32 {
        match self {
            Big::Packed(bits) => *bits,
            Big::Fields(bits) => bits.iter().sum(),
        }
    }
}

/// A frame to be decoded.
#[derive(Debug)]
pub(crate) struct Coded<'a> {
    /// The compressed bytes and the margin behind them.
    bytes: &'a [u8],
    /// Number of compressed bytes according to the header.
    n_claimed: u64,
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
    ///
    /// # Panics
    /// If `bytes` is shorter than the margin.
    pub(crate) fn new(compression: &Compression, n_atoms: usize, bytes: &'a [u8]) -> Self {
        assert!(bytes.len() >= MARGIN, "{} bytes, fewer than the margin of {MARGIN}", bytes.len());
        let n_bytes = (bytes.len() - MARGIN).min(usize::try_from(compression.n_bytes).unwrap_or(usize::MAX));
        Coded {
            bytes: &bytes[..n_bytes + MARGIN],
            n_claimed: compression.n_bytes,
            min: compression.min,
            sizes: compression.sizes,
            big: Big::new(compression.sizes),
            radix: OnceCell::new(),
            small_index: compression.small_index,
            inverse_precision: compression.inverse_precision(),
            n_atoms: n_atoms as u64,
        }
    }

    /// Begins the walk over its groups.
    pub(crate) fn begin(&self, walks: &mut Walks<'a>, lane: usize) {
        walks.begin(lane, self.bytes, self.big.bits(), self.small_index);
    }

    /// Where its compressed bytes start; [`MARGIN`] bytes are readable behind them.
    #[inline(always)]
    pub(super) fn data(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Its compressed bytes that are at hand, and whether these are all.
    pub(super) fn extent(&self) -> (usize, bool) {
        (self.bytes.len() - MARGIN, (self.bytes.len() - MARGIN) as u64 == self.n_claimed)
    }

    /// Number of compressed bytes according to its header.
    pub(super) fn n_claimed(&self) -> u64 {
        self.n_claimed
    }

    /// The bits of the byte before `end` that stand behind its first `n_used` bits.
    pub(super) fn unused_bits(&self, end: usize, n_used: u32) -> u8 {
        (u32::from(self.bytes[end - 1]) << n_used) as u8
    }

    /// Number of its atoms.
    pub(super) fn n_atoms(&self) -> u64 {
        self.n_atoms
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
    ///
    /// # Safety
    /// A group must start at `bit` that a walk over this frame has found.
    #[inline(always)]
    pub(super) unsafe fn word(&self, radix: &Radix, bit: u64) -> [i32; 3] {
        // SAFETY: the walk ended the group within `bytes`, and the margin covers the load.
        self.offset(unsafe { radix.unpack(self.data(), bit) })
    }

    /// The same, for packed ones that have no radix.
    ///
    /// # Safety
    /// As for [`Coded::word`].
    pub(super) unsafe fn wide(&self, bits: u32, bit: u64) -> [i32; 3] {
        // SAFETY: as for `word`.
        self.offset(unsafe { unpack_wide(self.data(), bit, self.sizes, bits) })
    }

    /// The same, for [`Big::Fields`].
    ///
    /// # Safety
    /// As for [`Coded::word`].
    pub(super) unsafe fn fields(&self, bits: [u32; 3], bit: u64) -> [i32; 3] {
        let starts = [bit, bit + u64::from(bits[0]), bit + u64::from(bits[0] + bits[1])];
        // SAFETY: as for `word`.
        self.offset([0, 1, 2].map(|axis| unsafe { unpack_field(self.data(), starts[axis], bits[axis]) }))
    }
}
