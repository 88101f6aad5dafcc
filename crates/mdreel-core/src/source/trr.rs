//! TRR: GROMACS's trajectories in full precision, with velocities and forces.
//!
//! Frames stand one after the other, each with a header of its own (`header`) that says which sections the frame has:
//! box, positions, velocities, forces, in single or double precision. Of the sections that are selected only the ranges
//! of bytes that hold selected atoms are read (`plan`), and their numbers (`number`) gathered.

pub(crate) mod header;
mod number;
mod plan;
mod reader;

use std::path::Path;

use super::bytes::FileBytes;
use super::capabilities::Capabilities;
use super::frame_index::Keep;
use super::located::{ChainedHeader, LocatedFile};
use super::{AtomSelection, Reader, Source};
use crate::error::Result;
use crate::frame::Quantities;
use header::Header;

/// A TRR file that has been opened.
#[derive(Debug)]
pub struct Trr {
    frames: LocatedFile<Header>,
}

/// Facts about a TRR file for `info`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Whether the first frame is in double precision.
    pub is_double: bool,
    /// Quantities of each atom in the first frame.
    pub present: Quantities,
    /// Time of the first frame, ps.
    pub first_time: f64,
}

impl Trr {
    /// Opens a file. Only its first header is read; frames are located when they have to be, and not at all when
    /// `keep` has an index of the file.
    pub fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        Ok(Trr { frames: LocatedFile::open(file, keep)? })
    }

    /// The file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.frames.file
    }

    /// The same file, with the frames behind damage; see [`LocatedFile::past_damage`].
    #[must_use]
    pub(crate) fn past_damage(&self) -> Self {
        Trr { frames: self.frames.past_damage() }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.frames.file.path()
    }

    /// Contents of the first header.
    pub fn facts(&self) -> Facts {
        let first = &self.frames.first;
        Facts { is_double: first.shape.real == 8, present: first.shape.present(), first_time: first.time() }
    }
}

impl Source for Trr {
    fn n_atoms(&self) -> usize {
        self.frames.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.frames.n_frames()
    }

    fn times(&self) -> Result<Vec<f64>> {
        self.frames.times()
    }

    fn n_bytes(&self) -> u64 {
        self.frames.file.len()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        // All, because any frame may have quantities that the first lacks.
        Capabilities { quantities: Quantities::ALL, ..self.frames.capabilities() }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(reader::TrrReader::new(&self.frames, atoms, wanted)))
    }
}
