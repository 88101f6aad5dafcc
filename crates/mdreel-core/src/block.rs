//! Blocks: the ranges of frames into which a run is divided.

mod shares;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Frames of a trajectory, in the order in which the reader reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameSet {
    /// `count` frames: `start`, `start + step`, and so on.
    Range {
        /// First frame.
        start: u64,
        /// Distance between consecutive frames; at least 1.
        step: u64,
        /// Number of frames.
        count: u64,
    },
    /// Any frames in any order. Frames may be repeated.
    List(Arc<[u64]>),
}

impl FrameSet {
    /// Returns all frames of a trajectory of `n_frames` frames.
    pub fn all(n_frames: u64) -> Self {
        FrameSet::Range { start: 0, step: 1, count: n_frames }
    }

    /// Returns the frames `start`, `start + step`, and so on, without a known end.
    pub fn endless(start: u64, step: u64) -> Self {
        FrameSet::Range { start, step, count: (u64::MAX - start) / step }
    }

    /// Returns whether the number of frames is unknown.
    pub fn is_endless(&self) -> bool {
        matches!(self, FrameSet::Range { start, step, count } if *count > 0 && *count == (u64::MAX - start) / step)
    }

    /// Returns the number of frames.
    pub fn len(&self) -> u64 {
        match self {
            FrameSet::Range { count, .. } => *count,
            FrameSet::List(list) => list.len() as u64,
        }
    }

    /// Returns whether the set contains no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the `i`-th frame.
    pub fn get(&self, i: u64) -> u64 {
        match self {
            FrameSet::Range { start, step, .. } => start + i * step,
            FrameSet::List(list) => list[i as usize],
        }
    }

    /// Returns the largest frame number, or `None` if the set is empty.
    pub fn last(&self) -> Option<u64> {
        match self {
            FrameSet::Range { count: 0, .. } => None,
            FrameSet::Range { start, step, count } => Some(start + (count - 1) * step),
            FrameSet::List(list) => list.iter().copied().max(),
        }
    }

    /// Returns how many of the frames come before frame `end`. The frames must be in ascending order.
    pub fn n_below(&self, end: u64) -> u64 {
        match self {
            FrameSet::Range { start, step, count } => end.saturating_sub(*start).div_ceil(*step).min(*count),
            FrameSet::List(list) => list.partition_point(|&frame| frame < end) as u64,
        }
    }

    /// Returns the end of the stretch of frames that begins with the `at`-th frame and lies within the range `within`.
    /// The `at`-th frame must lie within this range.
    pub(crate) fn stretch_end(&self, at: u64, within: &Range<u64>) -> u64 {
        match self {
            FrameSet::Range { start, step, count } => (within.end - start).div_ceil(*step).min(*count),
            FrameSet::List(list) => {
                at + list[at as usize..].iter().take_while(|frame| within.contains(frame)).count() as u64
            }
        }
    }

    /// Returns the frames at the positions `range` of the set.
    pub(crate) fn slice(&self, range: Range<u64>) -> FrameSet {
        match self {
            FrameSet::Range { start, step, .. } => {
                FrameSet::Range { start: start + range.start * step, step: *step, count: range.end - range.start }
            }
            FrameSet::List(list) => FrameSet::List(list[range.start as usize..range.end as usize].into()),
        }
    }
}

/// The frames of a block, given by number or by bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extent {
    /// Frames given by number. The source must know where they are.
    Frames(FrameSet),
    /// All frames that begin within a range of bytes. This variant serves files whose frames have not been located yet.
    /// Such a block numbers its frames from 0; `run` renumbers them once all blocks before it are done.
    Bytes(Range<u64>),
}

impl Extent {
    /// Returns the number of frames in the extent as far as they have been counted.
    pub(crate) fn n_known_frames(&self) -> u64 {
        match self {
            Extent::Frames(frames) => frames.len(),
            Extent::Bytes(_) => 0,
        }
    }

    /// Returns the frames of the extent, for a trajectory at `path` of `n_frames` frames that can be found only by
    /// number. Returns an error if the extent is a range of bytes, or if one of the frames does not exist.
    pub fn numbered(&self, path: &Path, n_frames: u64) -> Result<&FrameSet> {
        let Extent::Frames(frames) = self else {
            let message = "frames of this trajectory are found by number, not by bytes";
            return Err(Error::unsupported(message).in_file(path));
        };
        match frames.last().filter(|&last| last >= n_frames) {
            Some(frame) => Err(Error::FrameIndex { path: path.to_owned(), frame, n_frames }),
            None => Ok(frames),
        }
    }
}

/// The frames that one worker reads and maps at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Position of the block in the order of merging.
    pub index: usize,
    /// The frames of the block.
    pub extent: Extent,
    /// The trajectory segment that contains the complete block, if blocks keep to segments. With static scheduling, a
    /// worker gets either all blocks of a segment or none.
    pub segment: Option<usize>,
}

impl Block {
    /// Creates a block that may cover parts of several segments.
    pub(crate) fn new(index: usize, extent: Extent) -> Self {
        Block { index, extent, segment: None }
    }
}

/// The blocks of a run, in the order of merging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocks {
    /// The blocks of a complete trajectory.
    Listed(Vec<Block>),
    /// The blocks of a growing trajectory. Each block waits until its frames arrive or the trajectory ends.
    Arriving(Arriving),
}

/// Frames that arrive one after another, divided into blocks of equal size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arriving {
    /// The frames. Some of them may never arrive.
    pub frames: FrameSet,
    /// Number of frames in each block except the last; at least 1.
    pub block_frames: u64,
}

impl Blocks {
    /// Returns the number of blocks. If the end of the frames is unknown, this is an upper bound.
    pub fn len(&self) -> usize {
        match self {
            Blocks::Listed(blocks) => blocks.len(),
            Blocks::Arriving(arriving) => arriving.frames.len().div_ceil(arriving.block_frames) as usize,
        }
    }

    /// Returns whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the extent of the `block`-th block.
    pub fn extent(&self, block: usize) -> Option<Extent> {
        match self {
            Blocks::Listed(blocks) => blocks.get(block).map(|block| block.extent.clone()),
            Blocks::Arriving(arriving) => {
                let start = (block as u64).checked_mul(arriving.block_frames)?;
                let end = start.saturating_add(arriving.block_frames).min(arriving.frames.len());
                (start < end).then(|| Extent::Frames(arriving.frames.slice(start..end)))
            }
        }
    }

    /// Returns whether any block covers a range of bytes.
    pub fn are_of_bytes(&self) -> bool {
        matches!(self, Blocks::Listed(blocks) if blocks.iter().any(|block| matches!(block.extent, Extent::Bytes(_))))
    }

    /// Returns the number of frames in the blocks of `range` as far as they have been counted.
    pub fn n_known_frames(&self, range: Range<usize>) -> u64 {
        match self {
            Blocks::Listed(blocks) => blocks[range].iter().map(|block| block.extent.n_known_frames()).sum(),
            Blocks::Arriving(_) => 0,
        }
    }

    /// Serializes the blocks, for another process or a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::worker(format!("blocks cannot be sent: {error}")))
    }

    /// Deserializes blocks from `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes)
            .map_err(|error| Error::mismatch(format!("{} bytes are no blocks: {error}", bytes.len())))
    }
}

impl From<Vec<Block>> for Blocks {
    fn from(blocks: Vec<Block>) -> Self {
        Blocks::Listed(blocks)
    }
}

/// Divides `frames` into `n_parts` blocks whose sizes differ by at most one frame. The function omits empty blocks.
pub fn plan_frames(frames: &FrameSet, n_parts: u64) -> Vec<Block> {
    cut(frames.len(), n_parts)
        .enumerate()
        .map(|(index, range)| Block::new(index, Extent::Frames(frames.slice(range))))
        .collect()
}

/// Divides `frames` into up to `n_parts` blocks whose edges are multiples of `together` frames, so that no block splits
/// frames that the file stores together. A list of frames can be divided anywhere.
pub(crate) fn plan_whole_steps(frames: &FrameSet, n_parts: u64, together: u64) -> Vec<Block> {
    let (start, step, count) = match frames {
        FrameSet::Range { start, step, count } if together > 1 && *count > 0 => (*start, *step, *count),
        _ => return plan_frames(frames, n_parts),
    };
    let first = start / together;
    let n_pieces = (start + (count - 1) * step) / together - first + 1;
    // Returns the position in `frames` of the first frame at or after the start of a piece.
    let edge = |piece: u64| ((first + piece) * together).saturating_sub(start).div_ceil(step).min(count);
    cut(n_pieces, n_parts)
        .map(|pieces| edge(pieces.start)..if pieces.end == n_pieces { count } else { edge(pieces.end) })
        .filter(|range| !range.is_empty())
        .enumerate()
        .map(|(index, range)| Block::new(index, Extent::Frames(frames.slice(range))))
        .collect()
}

/// Divides the byte range of a file into `n_parts` blocks of about equal size.
pub fn plan_bytes(bytes: Range<u64>, n_parts: u64) -> Vec<Block> {
    cut(bytes.end - bytes.start, n_parts)
        .enumerate()
        .map(|(index, range)| Block::new(index, Extent::Bytes(bytes.start + range.start..bytes.start + range.end)))
        .collect()
}

fn cut(length: u64, n_parts: u64) -> impl Iterator<Item = Range<u64>> {
    let n_parts = n_parts.clamp(1, length.max(1));
    let edge = move |k: u64| (u128::from(length) * u128::from(k) / u128::from(n_parts)) as u64;
    (0..n_parts).map(move |k| edge(k)..edge(k + 1)).filter(|range| !range.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_cover_every_frame_once_in_order(start in 0u64..50, step in 1u64..9, count in 0u64..500, n_parts in 1u64..600) {
            let frames = FrameSet::Range { start, step, count };
            let blocks = plan_frames(&frames, n_parts);
            let mut seen = Vec::new();
            let mut sizes = Vec::new();
            for (i, block) in blocks.iter().enumerate() {
                prop_assert_eq!(block.index, i);
                let Extent::Frames(set) = &block.extent else { panic!("a frame plan holds frames") };
                sizes.push(set.len());
                seen.extend((0..set.len()).map(|k| set.get(k)));
            }
            let expected: Vec<u64> = (0..count).map(|i| start + i * step).collect();
            prop_assert_eq!(seen, expected);
            if let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) {
                prop_assert!(most - least <= 1);
            }
        }

        #[test]
        fn blocks_of_whole_steps_cover_every_frame_once_in_order(
            start in 0u64..50, step in 1u64..9, count in 0u64..500, n_parts in 1u64..600, together in 1u64..40,
        ) {
            let frames = FrameSet::Range { start, step, count };
            let blocks = plan_whole_steps(&frames, n_parts, together);
            prop_assert!(blocks.len() as u64 <= n_parts);
            let mut seen: Vec<u64> = Vec::new();
            for (i, block) in blocks.iter().enumerate() {
                prop_assert_eq!(block.index, i);
                let Extent::Frames(set) = &block.extent else { panic!("a frame plan holds frames") };
                prop_assert!(!set.is_empty());
                if let Some(before) = seen.last() {
                    prop_assert!(together == 1 || before / together < set.get(0) / together);
                }
                seen.extend((0..set.len()).map(|k| set.get(k)));
            }
            let expected: Vec<u64> = (0..count).map(|i| start + i * step).collect();
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn byte_blocks_tile_the_range(start in 0u64..1000, length in 0u64..100_000, n_parts in 1u64..200) {
            let mut at = start;
            for block in plan_bytes(start..start + length, n_parts) {
                let Extent::Bytes(range) = block.extent else { panic!("a byte plan holds bytes") };
                prop_assert_eq!(range.start, at);
                at = range.end;
            }
            prop_assert_eq!(at, start + length);
        }
    }
}
