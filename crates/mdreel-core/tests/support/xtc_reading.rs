//! Reading a source in every way there is, into something that can be compared to the bit.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use mdreel_core::block::{Block, Extent, FrameSet};
use mdreel_core::error::Result;
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::kernel::Kernel;
use mdreel_core::pool::Unattended;
use mdreel_core::reduce::Partial;
use mdreel_core::run::run;
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{AtomSelection, LocatedFrames, Source};
use mdreel_core::span::{Recorder, Span};

use crate::xtc_oracle::OracleFrame;

/// A frame, its floats as bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub index: u64,
    pub step: i64,
    pub time: u64,
    pub cell: Option<[[u32; 3]; 3]>,
    pub coordinates: Vec<[u32; 3]>,
}

/// What a reader must give for frame `index`.
pub fn expected(frame: &OracleFrame, index: u64, atoms: &AtomSelection) -> Seen {
    let edge = |k: usize| (frame.box_vectors[k] * 10.0).to_bits();
    let has_cell = frame.box_vectors.iter().any(|&v| v != 0.0);
    Seen {
        index,
        step: i64::from(frame.step),
        time: f64::from(frame.time).to_bits(),
        cell: has_cell.then(|| [0, 3, 6].map(|row| [edge(row), edge(row + 1), edge(row + 2)])),
        coordinates: atoms.indices().iter().map(|&i| frame.coordinates[i as usize].map(f32::to_bits)).collect(),
    }
}

/// What a batch holds.
pub fn seen(batch: &FrameBatch) -> impl Iterator<Item = Seen> {
    batch.headers().iter().enumerate().map(|(i, header)| {
        let columns = batch.columns(i);
        let atoms = columns.x.iter().zip(columns.y).zip(columns.z);
        Seen {
            index: header.index,
            step: header.step,
            time: header.time.to_bits(),
            cell: header.unit_cell.map(|cell| cell.vectors().map(|row| row.map(f32::to_bits))),
            coordinates: atoms.map(|((x, y), z)| [x.to_bits(), y.to_bits(), z.to_bits()]).collect(),
        }
    })
}

/// Opens a file whose index is kept nowhere.
pub fn open(path: &Path) -> Result<Xtc> {
    // Miri knows no maps of files.
    let access = if cfg!(miri) { Access::Read } else { Access::Auto };
    Xtc::open(FileBytes::open(path, access)?, Keep::Nowhere)
}

/// The same, to be decoded without vector instructions.
pub fn open_portable(path: &Path) -> Result<Xtc> {
    Ok(open(path)?.at_level(Level::available()[0]))
}

/// The same in all ways: mapped and read, with all instructions that there are.
pub fn open_in_all_ways(path: &Path) -> Result<Vec<Xtc>> {
    let open = |access| move |level| Ok(Xtc::open(FileBytes::open(path, access)?, Keep::Nowhere)?.at_level(level));
    [Access::Map, Access::Read]
        .into_iter()
        .flat_map(|access| Level::available().into_iter().map(open(access)))
        .collect()
}

/// Reads an extent through the reader interface, `capacity` frames at a time.
pub fn read(
    source: &dyn Source,
    atoms: &AtomSelection,
    extent: &Extent,
    capacity: usize,
) -> Result<(Vec<Seen>, LocatedFrames, Vec<Span>)> {
    let mut reader = source.reader(atoms, Quantities::POSITIONS)?;
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(atoms.len(), capacity);
    let mut frames = Vec::new();
    reader.start(extent)?;
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            return Ok((frames, reader.located(), recorder.take()));
        }
        assert!(batch.len() <= capacity.max(1));
        frames.extend(seen(&batch));
    }
}

/// Reads frames by number.
pub fn read_frames(source: &dyn Source, atoms: &AtomSelection, frames: FrameSet) -> Result<Vec<Seen>> {
    Ok(read(source, atoms, &Extent::Frames(frames), 7)?.0)
}

/// Reads the frames that begin in a range of bytes.
pub fn read_bytes(source: &dyn Source, atoms: &AtomSelection, range: Range<u64>) -> Result<(Vec<Seen>, LocatedFrames)> {
    read(source, atoms, &Extent::Bytes(range), 7).map(|(frames, located, _)| (frames, located))
}

/// A kernel that keeps everything.
pub struct KeepAll {
    pub n_atoms: usize,
}

/// All frames of a block.
#[derive(Debug, Default, PartialEq)]
pub struct Kept(pub Vec<Seen>);

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

    fn empty(&self) -> Kept {
        Kept::default()
    }

    fn map(&self, batch: &FrameBatch, partial: &mut Kept) -> Result<()> {
        partial.0.extend(seen(batch));
        Ok(())
    }
}

/// Runs the blocks; `None` when blocks of bytes did not join.
pub fn run_all(source: &dyn Source, atoms: &AtomSelection, blocks: &[Block], n_workers: usize) -> Result<Option<Kept>> {
    let kernel = KeepAll { n_atoms: atoms.len() };
    Ok(run(source, atoms, &kernel, blocks, n_workers, &mut Unattended)?.map(|outcome| outcome.result))
}
