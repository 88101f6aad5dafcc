//! Frames before decoding: the compressed bytes and the packing of the big coordinates.

use std::cell::OnceCell;

use super::control::Walks;
use super::header::Compression;
use super::radix::{MAX_PACKED_SIZE, Radix, packed_bits, unpack_field, unpack_wide};
use crate::source::bytes::MARGIN;

/// Packing of the big coordinates of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum Big {
    /// A mixed-radix number with this number of bits.
    Packed(u32),
    /// Three separate fields with these numbers of bits.
    Fields([u32; 3]),
}

impl Big {
    fn new(sizes: [u32; 3]) -> Self {
        if sizes.iter().any(|&size| size > MAX_PACKED_SIZE) {
            return Big::Fields(sizes.map(|size| 32 - size.leading_zeros()));
        }
        Big::Packed(packed_bits(sizes))
    }

    /// Returns the number of bits of a big coordinate.
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
    /// The compressed bytes and the margin after them.
    bytes: &'a [u8],
    /// Number of compressed bytes according to the header.
    n_claimed: u64,
    pub(super) min: [i32; 3],
    pub(super) sizes: [u32; 3],
    pub(super) big: Big,
    /// Constants for splitting a packed big coordinate that fits one load. The first use creates them.
    radix: OnceCell<Option<Radix>>,
    small_index: u32,
    pub(super) inverse_precision: f32,
    n_atoms: u64,
}

impl<'a> Coded<'a> {
    /// Creates a frame from its parameters and its compressed bytes, which may be incomplete at the end. The last
    /// [`MARGIN`] bytes of `bytes` do not belong to the frame.
    ///
    /// # Panics
    /// Panics if `bytes` is shorter than the margin.
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

    /// Begins the walk over the groups of the frame.
    pub(crate) fn begin(&self, walks: &mut Walks<'a>, lane: usize) {
        walks.begin(lane, self.bytes, self.big.bits(), self.small_index);
    }

    /// Returns a pointer to the compressed bytes. [`MARGIN`] bytes after them are also readable.
    #[inline(always)]
    pub(super) fn data(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Returns the number of compressed bytes in memory, and whether the frame is complete.
    pub(super) fn extent(&self) -> (usize, bool) {
        (self.bytes.len() - MARGIN, (self.bytes.len() - MARGIN) as u64 == self.n_claimed)
    }

    /// Returns the number of compressed bytes according to the header.
    pub(super) fn n_claimed(&self) -> u64 {
        self.n_claimed
    }

    /// Returns the bits after the first `n_used` bits of the byte before `end`.
    pub(super) fn unused_bits(&self, end: usize, n_used: u32) -> u8 {
        (u32::from(self.bytes[end - 1]) << n_used) as u8
    }

    /// Returns the number of atoms.
    pub(super) fn n_atoms(&self) -> u64 {
        self.n_atoms
    }

    #[inline(always)]
    fn offset(&self, c: [i32; 3]) -> [i32; 3] {
        [c[0].wrapping_add(self.min[0]), c[1].wrapping_add(self.min[1]), c[2].wrapping_add(self.min[2])]
    }

    /// Returns the constants for splitting big coordinates, if these are packed and fit one load.
    pub(super) fn radix(&self) -> Option<&Radix> {
        self.radix.get_or_init(|| Radix::new(self.sizes, self.big.bits())).as_ref()
    }

    /// Returns the big coordinate at `bit`, for packed coordinates with a radix.
    ///
    /// # Safety
    /// A group that a walk over this frame has found must start at `bit`.
    #[inline(always)]
    pub(super) unsafe fn word(&self, radix: &Radix, bit: u64) -> [i32; 3] {
        // SAFETY: the walk found the end of the group within `bytes`, and the margin covers the load.
        self.offset(unsafe { radix.unpack(self.data(), bit) })
    }

    /// Returns the big coordinate at `bit`, for packed coordinates without a radix.
    ///
    /// # Safety
    /// The same as for [`Coded::word`].
    pub(super) unsafe fn wide(&self, bits: u32, bit: u64) -> [i32; 3] {
        // SAFETY: as for `word`.
        self.offset(unsafe { unpack_wide(self.data(), bit, self.sizes, bits) })
    }

    /// Returns the big coordinate at `bit`, for [`Big::Fields`].
    ///
    /// # Safety
    /// The same as for [`Coded::word`].
    pub(super) unsafe fn fields(&self, bits: [u32; 3], bit: u64) -> [i32; 3] {
        let starts = [bit, bit + u64::from(bits[0]), bit + u64::from(bits[0] + bits[1])];
        // SAFETY: as for `word`.
        self.offset([0, 1, 2].map(|axis| unsafe { unpack_field(self.data(), starts[axis], bits[axis]) }))
    }
}
