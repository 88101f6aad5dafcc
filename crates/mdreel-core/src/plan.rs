//! Plans: how a run is divided into blocks, by frames or by bytes.

use std::ops::Range;

use crate::block::{Arriving, Block, Blocks, FrameSet, plan_bytes, plan_frames, plan_whole_steps};
use crate::error::{Error, Result};
use crate::source::{Source, SourceExt};

/// Target size of a block in bytes of the file. Blocks of this size allow large reads and still balance the workers.
const BLOCK_BYTES: u64 = 32 << 20;
/// Minimum size of a block of bytes. In smaller blocks, the search for the first frame costs more than the better
/// balance saves.
const LEAST_BLOCK_BYTES: u64 = 64 << 10;
/// Minimum number of blocks for each worker, so that the last worker to finish does not keep the others waiting for
/// long.
const BLOCKS_PER_WORKER: u64 = 8;
/// Maximum number of blocks. With more blocks, handing them out costs more than the better balance saves.
const MOST_BLOCKS: u64 = 100_000;
/// Target size of the coordinates in a block of a growing trajectory, in bytes. Small blocks make results available
/// soon.
const ARRIVING_BYTES: u64 = 16 << 20;
/// Minimum and maximum number of frames in a block of a growing trajectory.
const ARRIVING_FRAMES: (u64, u64) = (16, 1024);

/// Requirements for a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Number of blocks. By default, it depends on the size of the file and the number of workers.
    pub n_parts: Option<u64>,
    /// Whether blocks must not cross segment boundaries. Each segment then has at least one block.
    pub keep_to_segments: bool,
    /// Bytes of results per frame. If they exceed the size of a frame in the file, they determine the block size.
    pub row_bytes: u64,
}

/// Divides `frames`, or the complete trajectory if `None`, into blocks. A complete file whose frames have not been
/// located yet is divided by bytes, so that one pass locates and reads the frames. The number of frames in
/// a block of a growing trajectory depends only on the number of atoms and on the bytes of results per frame.
pub fn plan(source: &dyn Source, frames: Option<&FrameSet>, wishes: Wishes, n_workers: usize) -> Result<Blocks> {
    if source.growth().is_some() {
        return arriving(source, frames, wishes).map(Blocks::Arriving);
    }
    let blocks = match (frames, source.unlocated_bytes()) {
        (None, Some(ranges)) => Ok(by_bytes(&ranges, source.n_atoms(), wishes, n_workers)),
        (Some(frames), _) => by_frames(source, frames, wishes, n_workers),
        (None, None) => by_frames(source, &FrameSet::all(source.n_frames()?), wishes, n_workers),
    };
    blocks.map(Blocks::Listed)
}

fn arriving(source: &dyn Source, frames: Option<&FrameSet>, wishes: Wishes) -> Result<Arriving> {
    let Wishes { n_parts, row_bytes, .. } = wishes;
    if let Some(n_parts) = n_parts {
        let message = format!("a trajectory that grows cannot be cut into {n_parts} blocks: its length is not known");
        return Err(Error::unsupported(message));
    }
    let frame_bytes = (12 * source.n_atoms().max(1) as u64).max(row_bytes);
    let block_frames = (ARRIVING_BYTES / frame_bytes).clamp(ARRIVING_FRAMES.0, ARRIVING_FRAMES.1);
    let frames = frames.cloned().unwrap_or_else(|| FrameSet::endless(0, 1));
    Ok(Arriving { frames, block_frames })
}

fn by_frames(source: &dyn Source, frames: &FrameSet, wishes: Wishes, n_workers: usize) -> Result<Vec<Block>> {
    let frame_bytes = (source.n_bytes() / source.n_frames()?.max(1)).max(wishes.row_bytes);
    let n_parts = wishes.n_parts.unwrap_or_else(|| wanted_parts(frame_bytes.saturating_mul(frames.len()), n_workers));
    let cut = |frames: &FrameSet, n_parts| match wishes.n_parts {
        Some(_) => plan_frames(frames, n_parts),
        None => plan_whole_steps(frames, n_parts, source.preferred_step()),
    };
    if !wishes.keep_to_segments {
        return Ok(cut(frames, n_parts));
    }
    let mut blocks = Vec::new();
    for (segment, stretch) in stretches(frames, &source.segment_ends()?) {
        add(&mut blocks, Some(segment), cut(&stretch, share_of(n_parts, stretch.len(), frames.len())));
    }
    Ok(blocks)
}

/// Returns the frames of each segment, in stretches of consecutive frames of one segment.
fn stretches(frames: &FrameSet, ends: &[u64]) -> Vec<(usize, FrameSet)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < frames.len() {
        // The reader of a frame after the last segment will report that it does not exist.
        let segment = ends.partition_point(|&end| end <= frames.get(at)).min(ends.len() - 1);
        let begin = if segment == 0 { 0 } else { ends[segment - 1] };
        let end = if segment == ends.len() - 1 { u64::MAX } else { ends[segment] };
        let stretch_end = frames.stretch_end(at, &(begin..end));
        found.push((segment, frames.slice(at..stretch_end)));
        at = stretch_end;
    }
    found
}

fn by_bytes(ranges: &[Range<u64>], n_atoms: usize, wishes: Wishes, n_workers: usize) -> Vec<Block> {
    let length: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    // The size of frames is still unknown. The estimate is four bytes per atom, as in compressed frames.
    let weight = (wishes.row_bytes / (4 * n_atoms.max(1) as u64)).max(1);
    let wanted = || wanted_parts(length.saturating_mul(weight), n_workers).min(length.div_ceil(LEAST_BLOCK_BYTES));
    let n_parts = wishes.n_parts.unwrap_or_else(wanted);
    let mut blocks = Vec::new();
    for (segment, range) in ranges.iter().enumerate() {
        let of_file = plan_bytes(range.clone(), share_of(n_parts, range.end - range.start, length));
        add(&mut blocks, wishes.keep_to_segments.then_some(segment), of_file);
    }
    blocks
}

fn share_of(n_parts: u64, length: u64, total: u64) -> u64 {
    (u128::from(n_parts) * u128::from(length) / u128::from(total.max(1))) as u64
}

fn add(blocks: &mut Vec<Block>, segment: Option<usize>, more: Vec<Block>) {
    for block in more {
        blocks.push(Block { index: blocks.len(), extent: block.extent, segment });
    }
}

fn wanted_parts(n_bytes: u64, n_workers: usize) -> u64 {
    n_bytes.div_ceil(BLOCK_BYTES).max(BLOCKS_PER_WORKER * n_workers as u64).clamp(1, MOST_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Extent;
    use crate::frame::Quantities;
    use crate::source::capabilities::Capabilities;
    use crate::source::memory::MemorySource;
    use crate::source::{AtomSelection, Reader};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plans_by_bytes_tile_every_range(
            lengths in prop::collection::vec(1u64..(200 << 20), 1..6),
            n_parts in prop::option::of(1u64..300),
            n_workers in 1usize..9,
        ) {
            let mut end = 0;
            let ranges: Vec<_> = lengths.iter().map(|length| { end += length; end - length..end }).collect();
            let mut at = 0;
            let wishes = Wishes { n_parts, ..Wishes::default() };
            for (i, block) in by_bytes(&ranges, 3, wishes, n_workers).into_iter().enumerate() {
                prop_assert_eq!(block.index, i);
                let Extent::Bytes(range) = block.extent else { panic!("a byte plan holds bytes") };
                prop_assert_eq!(range.start, at);
                prop_assert!(ranges.iter().any(|whole| whole.start <= range.start && range.end <= whole.end));
                at = range.end;
            }
            prop_assert_eq!(at, end);
        }
    }

    fn memory(n_frames: usize, n_atoms: usize) -> MemorySource {
        MemorySource::new(n_atoms, vec![0.0; 3 * n_atoms * n_frames], vec![0.0; n_frames], Vec::new()).unwrap()
    }

    fn parts(n_parts: u64) -> Wishes {
        Wishes { n_parts: Some(n_parts), ..Wishes::default() }
    }

    proptest! {
        #[test]
        fn blocks_that_keep_to_segments_hold_every_frame_once(
            lengths in prop::collection::vec(0u64..20, 1..6),
            step in 1u64..5,
            n_parts in 1u64..30,
        ) {
            let ends: Vec<u64> = lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }).collect();
            let count = ends[ends.len() - 1].div_ceil(step);
            for frames in [
                FrameSet::Range { start: 0, step, count },
                FrameSet::List((0..count).rev().map(|i| i * step).collect()),
            ] {
                let found = stretches(&frames, &ends);
                prop_assert!(found.windows(2).all(|pair| pair[0].0 != pair[1].0));
                let mut seen = Vec::new();
                for (segment, stretch) in found {
                    let own = ends[segment] - lengths[segment]..ends[segment];
                    let numbers: Vec<u64> = (0..stretch.len()).map(|i| stretch.get(i)).collect();
                    prop_assert!(numbers.iter().all(|frame| own.contains(frame)));
                    seen.extend(numbers);
                }
                prop_assert_eq!(seen, (0..frames.len()).map(|i| frames.get(i)).collect::<Vec<_>>());
            }
            let whole = 0..count;
            let ranges: Vec<_> = ends.iter().zip(&lengths).map(|(end, length)| end - length..*end).collect();
            let wishes = Wishes { keep_to_segments: true, ..parts(n_parts) };
            let blocks = by_bytes(&ranges, 3, wishes, 1);
            prop_assert!(whole.is_empty() || blocks.iter().all(|block| block.segment.is_some()));
        }
    }

    #[test]
    fn plan_gives_every_worker_several_blocks() {
        assert_eq!(plan(&memory(1000, 1), None, Wishes::default(), 3).unwrap().len(), 24);
        assert_eq!(plan(&memory(5, 1), None, Wishes::default(), 3).unwrap().len(), 5);
    }

    #[test]
    fn plan_limits_what_is_left_of_blocks() {
        let wishes = Wishes { row_bytes: 1 << 20, ..Wishes::default() };
        assert_eq!(plan(&memory(4096, 1), None, wishes, 1).unwrap().len(), 128);
        let file = std::slice::from_ref(&(0..1 << 30));
        let n_blocks = |row_bytes| by_bytes(file, 1000, Wishes { row_bytes, ..Wishes::default() }, 1).len();
        assert_eq!((n_blocks(0), n_blocks(4000), n_blocks(40_000)), (32, 32, 320));
    }

    #[test]
    fn plan_limits_the_size_of_blocks() {
        let source = memory(48, 1 << 17);
        assert_eq!(plan(&source, None, Wishes::default(), 1).unwrap().len(), 8);
        let frames = FrameSet::List(vec![0; 4096].into());
        assert_eq!(plan(&source, Some(&frames), Wishes::default(), 1).unwrap().len(), 192);
    }

    /// A source that stores its frames in pieces of ten.
    struct Tens(MemorySource);

    impl Source for Tens {
        fn n_atoms(&self) -> usize {
            self.0.n_atoms()
        }

        fn n_frames(&self) -> Result<u64> {
            self.0.n_frames()
        }

        fn times(&self) -> Result<Vec<f64>> {
            self.0.times()
        }

        fn n_bytes(&self) -> u64 {
            self.0.n_bytes()
        }

        fn capabilities(&self) -> Capabilities<'_> {
            Capabilities { preferred_step: 10, ..self.0.capabilities() }
        }

        fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
            self.0.reader(atoms, wanted)
        }
    }

    #[test]
    fn plan_keeps_frames_together_that_are_stored_together() {
        let source = Tens(memory(95, 1));
        let Blocks::Listed(blocks) = plan(&source, None, Wishes::default(), 1).unwrap() else {
            panic!("it does not grow")
        };
        assert_eq!(blocks.len(), 8);
        let firsts = blocks.iter().map(|block| match &block.extent {
            Extent::Frames(frames) => frames.get(0) % 10,
            Extent::Bytes(_) => panic!("a frame plan holds frames"),
        });
        assert!(firsts.eq([0; 8]));
        assert_eq!(plan(&source, None, parts(20), 1).unwrap().len(), 20);
    }

    #[test]
    fn plan_obeys_the_number_of_parts() {
        assert_eq!(plan(&memory(1000, 1), None, parts(7), 3).unwrap().len(), 7);
    }
}
