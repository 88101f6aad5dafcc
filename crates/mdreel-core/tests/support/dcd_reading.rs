//! Reading of complete DCD files, for tests.

// Each test program uses a part of this module.
#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::io::Write;
use std::time::Instant;

use mdreel_core::Result;
use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::dcd::Dcd;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::{Recorder, Span};
use tempfile::NamedTempFile;

/// The frames that were read.
pub(crate) struct Frames {
    pub headers: Vec<FrameHeader>,
    /// x, y and z of each frame.
    pub columns: Vec<[Vec<f32>; 3]>,
    pub spans: Vec<Span>,
}

/// Creates a file that contains `bytes`.
pub(crate) fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

/// Opens a file that contains `bytes`. The file is deleted at once, but its content stays readable.
pub(crate) fn open(bytes: &[u8]) -> Result<Dcd> {
    let file = file_of(bytes);
    FileBytes::open(file.path(), Access::Auto).and_then(Dcd::open)
}

/// Reads `frames` in batches of `capacity`.
pub(crate) fn read(dcd: &Dcd, atoms: &AtomSelection, frames: FrameSet, capacity: usize) -> Result<Frames> {
    let mut reader = dcd.reader(atoms, Quantities::POSITIONS)?;
    let mut recorder = Recorder::new(Instant::now(), 0);
    let mut batch = FrameBatch::with_capacity(atoms.len(), capacity);
    let mut read = Frames { headers: Vec::new(), columns: Vec::new(), spans: Vec::new() };
    reader.start(&Extent::Frames(frames))?;
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            read.spans = recorder.take();
            return Ok(read);
        }
        read.headers.extend(batch.headers());
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            read.columns.push([columns.x.to_vec(), columns.y.to_vec(), columns.z.to_vec()]);
        }
    }
}

/// Opens a file and reads all its frames.
pub(crate) fn read_all(bytes: &[u8]) -> Result<Frames> {
    let dcd = open(bytes)?;
    read(&dcd, &AtomSelection::all(dcd.n_atoms()), FrameSet::all(dcd.n_frames()?), 4)
}
