//! Packing of decoded coordinates, to compare the bytes with a file.

use super::bits::{self, BitWriter};
use super::groups;
use super::integers::Integers;
use crate::frame::Columns;

/// Packs frames again; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Repacker {
    integers: Integers,
    bytes: Vec<u8>,
}

impl Repacker {
    /// The small index and the compressed bytes of a frame whose integers are the nearest to these positions times
    /// `scale`.
    pub(crate) fn pack(&mut self, positions: Columns<'_>, scale: f32) -> (u32, &[u8]) {
        self.integers.recover(positions, scale);
        let small_index = self.integers.first_small_index();
        // Bits that an earlier frame has left are written over, or are behind the end.
        self.bytes.resize(groups::most_bytes(positions.x.len()) + bits::MARGIN, 0);
        let mut writer = BitWriter::new(&mut self.bytes);
        groups::pack(&mut self.integers, small_index, &mut writer);
        let n_bytes = writer.finish();
        (small_index, &self.bytes[..n_bytes])
    }
}
