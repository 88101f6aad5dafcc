//! Reading of XTC files in every possible way, and the expected results.

use std::path::Path;

use mdreel_core::block::Block;
use mdreel_core::error::Result;
use mdreel_core::frame::Quantities;
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{AtomSelection, Source};

pub(crate) use crate::reading::{Kept, Seen, read, read_bytes, read_frames, seen};
use crate::reading::{bits, run_wanted};
use crate::xtc_oracle::OracleFrame;

/// Returns the expected result of a reader for frame `index`.
pub(crate) fn expected(frame: &OracleFrame, index: u64, atoms: &AtomSelection) -> Seen {
    let edge = |k: usize| bits(frame.box_vectors[k] * 10.0);
    let has_cell = frame.box_vectors.iter().any(|&v| v != 0.0);
    Seen {
        index,
        step: i64::from(frame.step),
        time: f64::from(frame.time).to_bits(),
        cell: has_cell.then(|| [0, 3, 6].map(|row| [edge(row), edge(row + 1), edge(row + 2)])),
        coordinates: atoms.indices().iter().map(|&i| frame.coordinates[i as usize].map(bits)).collect(),
        velocities: None,
        forces: None,
    }
}

/// Opens a file without storing its index.
pub(crate) fn open(path: &Path) -> Result<Xtc> {
    // Miri does not support memory maps of files.
    let access = if cfg!(miri) { Access::Read } else { Access::Auto };
    Xtc::open(FileBytes::open(path, access)?, Keep::Nowhere)
}

/// Opens a file without storing its index, for decoding without vector instructions.
pub(crate) fn open_portable(path: &Path) -> Result<Xtc> {
    Ok(open(path)?.at_level(Level::available()[0]))
}

/// Opens a file in all ways: mapped and read, with each available instruction set.
pub(crate) fn open_in_all_ways(path: &Path) -> Result<Vec<Xtc>> {
    let open = |access| move |level| Ok(Xtc::open(FileBytes::open(path, access)?, Keep::Nowhere)?.at_level(level));
    [Access::Map, Access::Read]
        .into_iter()
        .flat_map(|access| Level::available().into_iter().map(open(access)))
        .collect()
}

/// Runs the blocks. Returns `None` if blocks of bytes did not join.
pub(crate) fn run_all(
    source: &dyn Source,
    atoms: &AtomSelection,
    blocks: &[Block],
    n_workers: usize,
) -> Result<Option<Kept>> {
    run_wanted(source, atoms, Quantities::POSITIONS, blocks, n_workers)
}
