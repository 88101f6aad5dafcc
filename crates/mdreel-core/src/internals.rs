//! Separate stages of the XTC decoder, for benchmarks and examples. This interface is not stable.

use crate::frame::FrameBatch;
use crate::simd::Level;
use crate::source::bytes::MARGIN;
use crate::source::located::ChainedHeader;
use crate::source::xtc::coded::Coded;
use crate::source::xtc::control::{Groups, LANES, Walks, Wanted, walk};
use crate::source::xtc::decode::{Decoded, Decoder};
use crate::source::xtc::header::{Header, MAX_HEADER_LEN, Storage};

/// Number of frames that are decoded side by side.
pub const FRAMES_AT_ONCE: usize = LANES;
/// Maximum size of a frame header in bytes.
pub const MOST_HEADER_BYTES: usize = MAX_HEADER_LEN;

/// Returns the length in bytes and the number of atoms of the frame at the start of `bytes`.
pub fn frame_size(bytes: &[u8]) -> Option<(u64, usize)> {
    let header = Header::parse(bytes).ok().flatten()?;
    Some((header.frame_len(), header.n_atoms))
}

/// Up to `FRAMES_AT_ONCE` compressed frames.
#[derive(Default)]
pub struct Frames<'a> {
    coded: Vec<Coded<'a>>,
}

impl<'a> Frames<'a> {
    /// Adds the frame at the start of `bytes`. The slice must extend `MARGIN` bytes beyond the frame. Returns whether
    /// the frame is compressed.
    pub fn push(&mut self, bytes: &'a [u8]) -> bool {
        assert!(self.coded.len() < LANES, "at most {LANES} frames");
        let Some(header) = Header::parse(bytes).ok().flatten() else { return false };
        let end = header.frame_len() as usize + MARGIN;
        let Storage::Compressed(compression) = &header.storage else { return false };
        let Some(bytes) = bytes.get(header.header_len..end) else { return false };
        self.coded.push(Coded::new(compression, header.n_atoms, bytes));
        true
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.coded.len()
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.coded.is_empty()
    }
}

/// A pass over the flags of the groups, which does not decode coordinates.
pub struct ControlPass {
    level: Level,
    wanted: Wanted,
    groups: Box<Groups>,
}

impl ControlPass {
    /// Prepares a pass for the atoms of the given indices, which must ascend.
    pub fn new(level: Level, atoms: &[u32]) -> Self {
        ControlPass { level, wanted: Wanted::new(atoms), groups: Box::default() }
    }

    /// Walks over the groups of all frames. Returns how many groups were found.
    pub fn walk(&mut self, frames: &Frames<'_>) -> usize {
        let mut walks = Walks::none();
        frames.coded.iter().enumerate().for_each(|(lane, frame)| frame.begin(&mut walks, lane));
        let mut n_groups = 0;
        while !walks.are_over(&self.wanted) {
            walk::<true>(self.level, &mut walks, &self.wanted, &mut self.groups);
            n_groups += (0..frames.coded.len()).map(|lane| self.groups.lane(lane).len()).sum::<usize>();
        }
        n_groups
    }
}

/// A decoder of the coordinates of selected atoms.
pub struct Decoding {
    wanted: Wanted,
    decoder: Decoder,
    ends: Vec<Decoded>,
}

impl Decoding {
    /// Prepares the decoder for the atoms of the given indices, which must ascend.
    pub fn new(level: Level, atoms: &[u32]) -> Self {
        Decoding { wanted: Wanted::new(atoms), decoder: Decoder::new(level), ends: Vec::new() }
    }

    /// Decodes all frames into `batch`, which must contain the same number of frames.
    pub fn decode(&mut self, frames: &Frames<'_>, batch: &mut FrameBatch) {
        let mut columns: Vec<_> = batch.columns_from_mut(0).collect();
        self.decoder.decode(&self.wanted, &frames.coded, &mut columns, &mut self.ends);
    }
}
