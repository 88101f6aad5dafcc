//! Conversion to chunks of arrays, which the caller writes to a file.

use super::blocks::{BlockCoder, Conversion};
use super::outline::outline_of;
use super::output::check_count;
use crate::block::{Block, Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::pool::Monitor;
use crate::source::{AtomSelection, Source, SourceExt};
use crate::span::{Span, SpanKind};
use crate::writer::Outline;
use crate::writer::chunks::{ChunkCutter, ChunkLayout, CutFrames};

/// Minimum number of bytes of coordinates in a block, so that passing it on takes little time compared with the work on
/// it.
const LEAST_BLOCK_BYTES: u64 = 1 << 20;
/// Maximum number of bytes up to which a block is extended to whole pieces of the source, so that each piece is decoded
/// once.
const MOST_BLOCK_BYTES: u64 = 32 << 20;

/// A receiver of chunks, which writes them to a file.
pub trait ChunkSink {
    /// Stores the next frames. `first` is the number of the first of them, counted from the first frame written. The
    /// method is called on the calling thread, in the order of the frames.
    fn write(&mut self, first: u64, frames: CutFrames) -> Result<()>;
}

/// Returns the outline of the frames to write. All of them get the same quantities.
pub fn chunk_outline(source: &dyn Source, atoms: &AtomSelection, frames: &FrameSet) -> Result<Outline> {
    outline_of(source, atoms, frames, source.quantities().with(Quantity::Positions, true), true)
}

/// Divides the selected atoms of `frames` of `source` into chunks on `n_workers` threads and passes them to `sink`. The
/// chunks do not depend on the number of workers. Returns the spans of all work.
pub fn convert_to_chunks(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    layout: ChunkLayout,
    n_workers: usize,
    monitor: &mut dyn Monitor,
    sink: &mut dyn ChunkSink,
) -> Result<Vec<Span>> {
    atoms.check(source.n_atoms())?;
    layout.check()?;
    if layout.n_atoms != atoms.len() {
        let n_atoms = atoms.len();
        return Err(Error::mismatch(format!("chunks of {} atoms for a selection of {n_atoms}", layout.n_atoms)));
    }
    let mut conversion = Conversion::begin();
    let blocks = plan(frames, block_frames(&layout, source.preferred_step()));
    conversion.record(SpanKind::Open);
    let mut n_written = 0;
    let make_coder = || Cutting { cutter: ChunkCutter::new(layout) };
    let wanted: Quantities = layout.quantities;
    conversion.run(source, (atoms, wanted), &blocks, n_workers, monitor, make_coder, |cut, n_frames| {
        let n_bytes = cut.chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
        sink.write(n_written, cut)?;
        n_written += n_frames;
        Ok(n_bytes)
    })?;
    check_count(n_written, frames.len())?;
    Ok(conversion.end())
}

/// Returns the number of frames of a block. A block consists of whole chunks and is large enough to be worthwhile. If
/// there is room, it contains all frames that the source decodes together.
fn block_frames(layout: &ChunkLayout, together: u64) -> u64 {
    let (piece, frame_bytes) = (layout.chunk_frames as u64, layout.frame_bytes());
    let most = (MOST_BLOCK_BYTES / frame_bytes).max(piece);
    let frames = (LEAST_BLOCK_BYTES / frame_bytes).max(together).clamp(piece, most);
    frames / piece * piece
}

/// Plans blocks that begin where chunks begin.
fn plan(frames: &FrameSet, block_frames: u64) -> Vec<Block> {
    let n_frames = frames.len();
    let ranges = (0..n_frames.div_ceil(block_frames)).map(|i| i * block_frames..n_frames.min((i + 1) * block_frames));
    ranges.enumerate().map(|(index, range)| Block::new(index, Extent::Frames(frames.slice(range)))).collect()
}

struct Cutting {
    cutter: ChunkCutter,
}

impl BlockCoder for Cutting {
    type Coded = CutFrames;

    // A block may have up to 32 MiB, compared with 1 MiB in other conversions.
    const AHEAD: usize = 4;

    fn add(&mut self, batch: &FrameBatch, is_wanted: &mut dyn FnMut() -> bool) -> Result<u64> {
        self.cutter.add(batch, is_wanted)?;
        Ok(0)
    }

    fn finish(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<CutFrames> {
        self.cutter.finish(is_wanted)
    }
}
