//! Cutting: which segments of a chain an extent lies in.

use std::ops::Range;

use super::{ChainSource, Segment};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};

/// The part of a block that lies within one segment, in the segment's own numbers.
pub(crate) struct Piece {
    pub segment: usize,
    pub extent: Extent,
    /// The number of the segment's first frame; `None` where frames are counted from the block's beginning.
    pub first_frame: Option<u64>,
}

impl ChainSource {
    /// The parts of `frames` that lie within one segment each, in order.
    pub(crate) fn cut_frames(&self, frames: &FrameSet) -> Result<Vec<Piece>> {
        let firsts = self.first_frames()?;
        let n_frames = firsts[firsts.len() - 1];
        if let Some(frame) = frames.last().filter(|&frame| frame >= n_frames) {
            return Err(Error::FrameIndex { path: self.segments[0].path.clone(), frame, n_frames });
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

    /// The parts of a range of the virtual file that lie within one segment each.
    pub(crate) fn cut_bytes(&self, range: &Range<u64>) -> Vec<Piece> {
        let overlap = |segment: &Segment| {
            range.start.max(segment.bytes.start) - segment.bytes.start
                ..range.end.min(segment.bytes.end).max(segment.bytes.start) - segment.bytes.start
        };
        let pieces = self.segments.iter().enumerate().map(|(i, segment)| (i, overlap(segment)));
        pieces
            .filter(|(_, bytes)| bytes.start < bytes.end)
            .map(|(segment, bytes)| Piece { segment, extent: Extent::Bytes(bytes), first_frame: None })
            .collect()
    }
}
