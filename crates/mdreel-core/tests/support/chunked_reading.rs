//! Reading of complete chunked trajectories, for tests and fuzzing.

use std::time::Instant;

use mdreel_core::Result;
use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, Quantities};
use mdreel_core::source::chunked::Chunked;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::Recorder;

/// The number and coordinates of each frame, with x, y and z of one atom after another.
pub(crate) type Frames = Vec<(u64, Vec<[f32; 3]>)>;

/// Reads `frames` in batches of `capacity`.
pub(crate) fn read(source: &Chunked, atoms: &AtomSelection, frames: FrameSet, capacity: usize) -> Result<Frames> {
    let mut reader = source.reader(atoms, Quantities::POSITIONS)?;
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(atoms.len(), capacity);
    let mut read = Vec::new();
    reader.start(&Extent::Frames(frames))?;
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            return Ok(read);
        }
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            let rows = columns.x.iter().zip(columns.y).zip(columns.z).map(|((&x, &y), &z)| [x, y, z]);
            read.push((batch.header(i).index, rows.collect()));
        }
    }
}
