//! Separate stages of the XTC decoder, for benchmarks and examples. This interface is not stable.

use crate::frame::FrameBatch;
use crate::simd::Level;
use crate::source::bytes::MARGIN;
use crate::source::located::ChainedHeader;
use crate::source::xtc::coded::Coded;
use crate::source::xtc::control::{Groups, LANES, Walks, Wanted, walk};
use crate::source::xtc::decode::{Decoded, Decoder};
use crate::source::xtc::header::{Header, MAX_HEADER_LEN, Storage};

/// Frames that are decoded side by side.
pub const FRAMES_AT_ONCE: usize = LANES;
/// The most bytes that the header of a frame takes.
pub const MOST_HEADER_BYTES: usize = MAX_HEADER_LEN;

/// Return the length in bytes and the number of atoms of the frame at the start of `bytes`.
pub fn frame_size(bytes: &[u8]) -> Option<(u64, usize)> {
    let header = Header::parse(bytes).ok().flatten()?;
    Some((header.frame_len(), header.n_atoms))
}

/// Compressed frames, at most `FRAMES_AT_ONCE`.
#[derive(Default)]
pub struct Frames<'a> {
    coded: Vec<Coded<'a>>,
}

impl<'a> Frames<'a> {
    /// Add the frame at the start of `bytes`, which go on for `MARGIN` bytes after it. Return whether it is a
    /// compressed frame.
    pub fn push(&mut self, bytes: &'a [u8]) -> bool {
        assert!(self.coded.len() < LANES, "at most {LANES} frames");
        let Some(header) = Header::parse(bytes).ok().flatten() else { return false };
        let end = header.frame_len() as usize + MARGIN;
        let Storage::Compressed(compression) = &header.storage else { return false };
        let Some(bytes) = bytes.get(header.header_len..end) else { return false };
        self.coded.push(Coded::new(compression, header.n_atoms, bytes));
        true
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.coded.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.coded.is_empty()
    }
}

/// The pass over the flags of the groups, which decodes no coordinates.
pub struct ControlPass {
    level: Level,
    wanted: Wanted,
    groups: Box<Groups>,
}

impl ControlPass {
    /// Prepare a pass for atoms of the given indices, which ascend.
    pub fn new(level: Level, atoms: &[u32]) -> Self {
        ControlPass { level, wanted: Wanted::new(atoms), groups: Box::default() }
    }

    /// Walk over the groups of all frames. Return how many groups were found.
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

/// The decoder of the coordinates of some atoms.
pub struct Decoding {
    wanted: Wanted,
    decoder: Decoder,
    ends: Vec<Decoded>,
}

impl Decoding {
    /// Prepare the decoding of atoms of the given indices, which ascend.
    pub fn new(level: Level, atoms: &[u32]) -> Self {
        Decoding { wanted: Wanted::new(atoms), decoder: Decoder::new(level), ends: Vec::new() }
    }

    /// Decode all frames into `batch`, which has as many frames.
    pub fn decode(&mut self, frames: &Frames<'_>, batch: &mut FrameBatch) {
        let mut columns: Vec<_> = batch.columns_from_mut(0).collect();
        self.decoder.decode(&self.wanted, &frames.coded, &mut columns, &mut self.ends);
    }
}
