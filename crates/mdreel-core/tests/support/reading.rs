//! Reading of a source in every possible way, with results that can be compared bit by bit.

use std::ops::Range;
use std::time::Instant;

use mdreel_core::block::{Block, Blocks, Extent, FrameSet};
use mdreel_core::error::Result;
use mdreel_core::frame::{FrameBatch, Quantities, Quantity};
use mdreel_core::kernel::Kernel;
use mdreel_core::pool::Unattended;
use mdreel_core::reduce::Partial;
use mdreel_core::run::run;
use mdreel_core::source::{AtomSelection, LocatedFrames, Source};
use mdreel_core::span::{Recorder, Span};

/// The bits of x, y and z of some atoms.
pub(crate) type Bits = Vec<[u32; 3]>;

/// A frame with its floats as bits. All NaN values have the same bits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub index: u64,
    pub step: i64,
    pub time: u64,
    pub cell: Option<[[u32; 3]; 3]>,
    /// Positions, empty if the frame has none or if they were not requested.
    pub coordinates: Bits,
    pub velocities: Option<Bits>,
    pub forces: Option<Bits>,
}

/// Returns the bits of a number. All NaN values have the same bits.
pub(crate) fn bits(number: f32) -> u32 {
    if number.is_nan() { f32::NAN.to_bits() } else { number.to_bits() }
}

/// Returns the frames in a batch.
pub(crate) fn seen(batch: &FrameBatch) -> impl Iterator<Item = Seen> {
    batch.headers().iter().enumerate().map(|(i, header)| {
        let quantity = |quantity| {
            let columns = batch.columns_of(i, quantity)?;
            let atoms = columns.x.iter().zip(columns.y).zip(columns.z);
            Some(atoms.map(|((&x, &y), &z)| [x, y, z].map(bits)).collect())
        };
        Seen {
            index: header.index,
            step: header.step,
            time: header.time.to_bits(),
            cell: header.unit_cell.map(|cell| cell.vectors().map(|row| row.map(bits))),
            coordinates: quantity(Quantity::Positions).unwrap_or_default(),
            velocities: quantity(Quantity::Velocities),
            forces: quantity(Quantity::Forces),
        }
    })
}

/// Reads the `wanted` quantities of an extent through the reader interface, with `capacity` frames per batch, or as
/// many as suit the cache.
pub(crate) fn read_wanted(
    source: &dyn Source,
    atoms: &AtomSelection,
    wanted: Quantities,
    extent: &Extent,
    capacity: Option<usize>,
) -> Result<(Vec<Seen>, LocatedFrames, Vec<Span>)> {
    let mut reader = source.reader(atoms, wanted)?;
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = match capacity {
        Some(capacity) => FrameBatch::with_capacity(atoms.len(), capacity),
        None => FrameBatch::for_quantities(atoms.len(), wanted),
    };
    let mut frames = Vec::new();
    reader.start(extent)?;
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            return Ok((frames, reader.located(), recorder.take()));
        }
        assert!(batch.len() <= batch.capacity());
        frames.extend(seen(&batch));
    }
}

/// Reads positions through the reader interface, with `capacity` frames per batch.
pub(crate) fn read(
    source: &dyn Source,
    atoms: &AtomSelection,
    extent: &Extent,
    capacity: usize,
) -> Result<(Vec<Seen>, LocatedFrames, Vec<Span>)> {
    read_wanted(source, atoms, Quantities::POSITIONS, extent, Some(capacity))
}

/// Reads frames by number.
pub(crate) fn read_frames(source: &dyn Source, atoms: &AtomSelection, frames: FrameSet) -> Result<Vec<Seen>> {
    Ok(read(source, atoms, &Extent::Frames(frames), 7)?.0)
}

/// Reads the frames that begin in a range of bytes.
pub(crate) fn read_bytes(
    source: &dyn Source,
    atoms: &AtomSelection,
    range: Range<u64>,
) -> Result<(Vec<Seen>, LocatedFrames)> {
    read(source, atoms, &Extent::Bytes(range), 7).map(|(frames, located, _)| (frames, located))
}

/// A kernel that keeps everything.
#[derive(Clone)]
pub(crate) struct KeepAll {
    pub n_atoms: usize,
    pub wanted: Quantities,
}

/// All frames of a block.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Kept(pub Vec<Seen>);

impl Partial for Kept {
    fn n_frames(&self) -> u64 {
        self.0.len() as u64
    }

    fn merge(&mut self, next: Self) {
        self.0.extend(next.0);
    }

    fn renumber(&mut self, first: u64) {
        self.0.iter_mut().for_each(|frame| frame.index += first);
    }
}

impl Kernel for KeepAll {
    type Partial = Kept;

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn quantities(&self) -> Quantities {
        self.wanted
    }

    fn needs(&self) -> Quantities {
        Quantities::NONE
    }

    fn empty(&self) -> Kept {
        Kept::default()
    }

    fn map(&mut self, batch: &FrameBatch, partial: &mut Kept) -> Result<()> {
        partial.0.extend(seen(batch));
        Ok(())
    }
}

/// Runs the blocks for the `wanted` quantities. Returns `None` if blocks of bytes did not join.
pub(crate) fn run_wanted(
    source: &dyn Source,
    atoms: &AtomSelection,
    wanted: Quantities,
    blocks: &[Block],
    n_workers: usize,
) -> Result<Option<Kept>> {
    let kernel = KeepAll { n_atoms: atoms.len(), wanted };
    let blocks = Blocks::from(blocks.to_vec());
    Ok(run(source, atoms, &kernel, &blocks, n_workers, &mut Unattended)?.map(|outcome| outcome.result))
}
