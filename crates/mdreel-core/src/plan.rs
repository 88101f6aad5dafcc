//! Plans: how many blocks a run is cut into, and whether by frames or by bytes.

use std::ops::Range;

use crate::block::{Arriving, Block, Blocks, FrameSet, plan_bytes, plan_frames, plan_whole_steps};
use crate::error::{Error, Result};
use crate::source::Source;

/// Bytes of file in a block: large reads, yet many blocks to balance the workers with.
const BLOCK_BYTES: u64 = 16 << 20;
/// Bytes below which looking for the first frame of a block of bytes costs more than balance gains.
const LEAST_BLOCK_BYTES: u64 = 64 << 10;
/// Blocks for each worker, so that the last one to finish keeps the others waiting for little.
const BLOCKS_PER_WORKER: u64 = 8;
/// Blocks above which handing them out costs more than balance gains.
const MOST_BLOCKS: u64 = 100_000;
/// Frames in a block of a trajectory that grows: as many as fit into [`BLOCK_BYTES`], within these limits.
const ARRIVING_FRAMES: (u64, u64) = (16, 1024);

/// Cuts `frames`, or the whole trajectory if `None`, into `n_parts` blocks, or into as many as suit the size of the
/// file and the number of workers. A whole file whose frames nobody has located yet is cut by bytes, so that
/// locating and reading are one pass. A trajectory that grows is cut into blocks of a number of frames that depends on
/// nothing but its atoms.
pub fn plan(source: &dyn Source, frames: Option<&FrameSet>, n_parts: Option<u64>, n_workers: usize) -> Result<Blocks> {
    if source.growth().is_some() {
        return arriving(source, frames, n_parts).map(Blocks::Arriving);
    }
    let blocks = match (frames, source.unlocated_bytes()) {
        (None, Some(ranges)) => Ok(by_bytes(&ranges, n_parts, n_workers)),
        (Some(frames), _) => by_frames(source, frames, n_parts, n_workers),
        (None, None) => by_frames(source, &FrameSet::all(source.n_frames()?), n_parts, n_workers),
    };
    blocks.map(Blocks::Listed)
}

fn arriving(source: &dyn Source, frames: Option<&FrameSet>, n_parts: Option<u64>) -> Result<Arriving> {
    if let Some(n_parts) = n_parts {
        let message = format!("a trajectory that grows cannot be cut into {n_parts} blocks: its length is not known");
        return Err(Error::Unsupported(message));
    }
    let frame_bytes = 12 * source.n_atoms().max(1) as u64;
    let block_frames = (BLOCK_BYTES / frame_bytes).clamp(ARRIVING_FRAMES.0, ARRIVING_FRAMES.1);
    let frames = frames.cloned().unwrap_or_else(|| FrameSet::endless(0, 1));
    Ok(Arriving { frames, block_frames })
}

fn by_frames(source: &dyn Source, frames: &FrameSet, n_parts: Option<u64>, n_workers: usize) -> Result<Vec<Block>> {
    if let Some(n_parts) = n_parts {
        return Ok(plan_frames(frames, n_parts));
    }
    let frame_bytes = source.n_bytes() / source.n_frames()?.max(1);
    let n_parts = wanted_parts(frame_bytes.saturating_mul(frames.len()), n_workers);
    Ok(plan_whole_steps(frames, n_parts, source.preferred_step()))
}

fn by_bytes(ranges: &[Range<u64>], n_parts: Option<u64>, n_workers: usize) -> Vec<Block> {
    let length: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let n_parts = n_parts.unwrap_or_else(|| wanted_parts(length, n_workers).min(length.div_ceil(LEAST_BLOCK_BYTES)));
    let mut blocks = Vec::new();
    for range in ranges {
        let share = u128::from(n_parts) * u128::from(range.end - range.start) / u128::from(length.max(1));
        for block in plan_bytes(range.clone(), share as u64) {
            blocks.push(Block { index: blocks.len(), ..block });
        }
    }
    blocks
}

fn wanted_parts(n_bytes: u64, n_workers: usize) -> u64 {
    n_bytes.div_ceil(BLOCK_BYTES).max(BLOCKS_PER_WORKER * n_workers as u64).clamp(1, MOST_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Extent;
    use crate::frame::Quantities;
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
            for (i, block) in by_bytes(&ranges, n_parts, n_workers).into_iter().enumerate() {
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

    #[test]
    fn plan_gives_every_worker_several_blocks() {
        assert_eq!(plan(&memory(1000, 1), None, None, 3).unwrap().len(), 24);
        assert_eq!(plan(&memory(5, 1), None, None, 3).unwrap().len(), 5);
    }

    #[test]
    fn plan_limits_the_size_of_blocks() {
        let source = memory(48, 1 << 17);
        assert_eq!(plan(&source, None, None, 1).unwrap().len(), 8);
        let frames = FrameSet::List(vec![0; 4096].into());
        assert_eq!(plan(&source, Some(&frames), None, 1).unwrap().len(), 384);
    }

    /// A source whose frames lie in pieces of ten.
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

        fn preferred_step(&self) -> u64 {
            10
        }

        fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
            self.0.reader(atoms, wanted)
        }
    }

    #[test]
    fn plan_keeps_frames_together_that_are_stored_together() {
        let source = Tens(memory(95, 1));
        let Blocks::Listed(blocks) = plan(&source, None, None, 1).unwrap() else { panic!("it does not grow") };
        assert_eq!(blocks.len(), 8);
        let firsts = blocks.iter().map(|block| match &block.extent {
            Extent::Frames(frames) => frames.get(0) % 10,
            Extent::Bytes(_) => panic!("a frame plan holds frames"),
        });
        assert!(firsts.eq([0; 8]));
        assert_eq!(plan(&source, None, Some(20), 1).unwrap().len(), 20);
    }

    #[test]
    fn plan_obeys_the_number_of_parts() {
        assert_eq!(plan(&memory(1000, 1), None, Some(7), 3).unwrap().len(), 7);
    }
}
