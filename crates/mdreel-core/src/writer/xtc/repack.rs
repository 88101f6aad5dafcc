//! Packing of decoded coordinates, to compare the bytes with those of a file.

use super::bits::{self, BitWriter};
use super::groups;
use super::integers::Integers;
use crate::frame::Columns;

/// A packer of decoded frames. It reuses its buffers.
#[derive(Debug, Default)]
pub(crate) struct Repacker {
    integers: Integers,
    bytes: Vec<u8>,
}

impl Repacker {
    /// Returns the small index and the compressed bytes of a frame. Its integers are the nearest ones to these
    /// positions times `scale`.
    pub(crate) fn pack(&mut self, positions: Columns<'_>, scale: f32) -> (u32, &[u8]) {
        self.integers.recover(positions, scale);
        let small_index = self.integers.first_small_index();
        // Bits left by an earlier frame are overwritten, or lie after the end.
        self.bytes.resize(groups::most_bytes(positions.x.len()) + bits::MARGIN, 0);
        let mut writer = BitWriter::new(&mut self.bytes);
        groups::pack(&mut self.integers, small_index, &mut writer);
        let n_bytes = writer.finish();
        (small_index, &self.bytes[..n_bytes])
    }
}
