//! Division of an extent among the segments of a chain.

use std::ops::Range;

use super::ChainSource;
use super::piece::Piece;
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};

impl ChainSource {
    /// Returns the index of the first frame of each segment, followed by the number of all frames, if known.
    pub(crate) fn known_first_frames(&self) -> Option<&[u64]> {
        self.first_frames.get().map(Vec::as_slice)
    }

    /// Takes over these numbers from another process that has opened the same chain.
    pub(crate) fn take_first_frames(&self, firsts: Vec<u64>) -> Result<()> {
        if firsts.len() != self.segments.len() + 1 || !firsts.is_sorted() {
            let (n, n_told) = (self.segments.len(), firsts.len());
            return Err(Error::mismatch(format!("{n} segments, but {n_told} numbers of first frames")));
        }
        self.first_frames.get_or_init(|| firsts);
        self.looked.get_or_init(|| ());
        Ok(())
    }

    /// Divides `frames` into parts that each lie within one segment, in order.
    pub(crate) fn cut_frames(&self, frames: &FrameSet) -> Result<Vec<Piece>> {
        let firsts = self.first_frames()?;
        let n_frames = firsts[firsts.len() - 1];
        if let Some(frame) = frames.last().filter(|&frame| frame >= n_frames) {
            return Err(Error::FrameIndex { path: self.segments.get(0).path.to_path_buf(), frame, n_frames });
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < frames.len() {
            let segment = firsts.partition_point(|&first| first <= frames.get(at)) - 1;
            let within = firsts[segment]..firsts[segment + 1];
            let end = frames.stretch_end(at, &within);
            let local = match frames.slice(at..end) {
                FrameSet::Range { start, step, count } => FrameSet::Range { start: start - within.start, step, count },
                FrameSet::List(list) => FrameSet::List(list.iter().map(|frame| frame - within.start).collect()),
            };
            pieces.push(Piece { segment, extent: Extent::Frames(local), first_frame: Some(within.start) });
            at = end;
        }
        Ok(pieces)
    }

    /// Divides a range of the virtual file into parts that each lie within one segment.
    pub(crate) fn cut_bytes(&self, range: &Range<u64>) -> Vec<Piece> {
        let overlap = |segment: Range<u64>| {
            range.start.max(segment.start) - segment.start
                ..range.end.min(segment.end).max(segment.start) - segment.start
        };
        let pieces = (0..self.segments.len()).map(|i| (i, overlap(self.bytes(i))));
        pieces
            .filter(|(_, bytes)| bytes.start < bytes.end)
            .map(|(segment, bytes)| Piece { segment, extent: Extent::Bytes(bytes), first_frame: None })
            .collect()
    }
}
