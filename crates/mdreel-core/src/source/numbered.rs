//! Iteration over the frames of an extent by number.

use super::bytes::{ByteReader, FileBytes};
use crate::block::{Extent, FrameSet};
use crate::error::Result;

/// The position of one reader in the frames of an extent.
#[derive(Debug)]
pub(super) struct NumberedFrames {
    extent: FrameSet,
    /// Number of frames of the extent read so far.
    n_read: u64,
    chosen: Vec<u64>,
}

impl Default for NumberedFrames {
    fn default() -> Self {
        NumberedFrames { extent: FrameSet::all(0), n_read: 0, chosen: Vec::new() }
    }
}

impl NumberedFrames {
    /// Starts an extent of a file of `n_frames` frames.
    pub(crate) fn start(&mut self, extent: &Extent, file: &FileBytes, n_frames: u64) -> Result<()> {
        self.extent = extent.numbered(file.path(), n_frames)?.clone();
        self.n_read = 0;
        Ok(())
    }

    /// Lets `bytes` request data ahead, up to the end of a range of frames. `offset` returns the start of a frame.
    pub(crate) fn expect(&self, bytes: &mut ByteReader<'_>, offset: impl Fn(u64) -> u64) {
        if let (FrameSet::Range { .. }, Some(last)) = (&self.extent, self.extent.last()) {
            bytes.expect_until(offset(last + 1));
        }
    }

    /// Returns the next frame; `None` after the last one.
    pub(crate) fn next(&self) -> Option<u64> {
        (self.n_read < self.extent.len()).then(|| self.extent.get(self.n_read))
    }

    /// Chooses the next frames for one load: at least one and at most `room` frames that ascend in the file.
    pub(crate) fn choose(&mut self, room: u64) {
        self.chosen.clear();
        self.chosen.extend(self.next());
        let room = room.min(self.extent.len() - self.n_read);
        for i in 1..room {
            let frame = self.extent.get(self.n_read + i);
            if frame <= self.extent.get(self.n_read + i - 1) {
                break;
            }
            self.chosen.push(frame);
        }
    }

    /// Chooses a frame that may lie outside the extent.
    pub(crate) fn choose_only(&mut self, frame: u64) {
        self.chosen.clear();
        self.chosen.push(frame);
    }

    /// Returns the chosen frames.
    pub(crate) fn chosen(&self) -> &[u64] {
        &self.chosen
    }

    /// Marks the chosen frames as read.
    pub(crate) fn advance(&mut self) {
        self.n_read += self.chosen.len() as u64;
    }
}
