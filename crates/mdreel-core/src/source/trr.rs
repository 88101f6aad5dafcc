//! Reader of TRR files, the trajectories of GROMACS in full precision, with velocities and forces.
//!
//! Frames are consecutive. The header of each frame (`header`) specifies the sections of the frame: box, positions,
//! velocities and forces, in single or double precision. The reader loads only those ranges of bytes of the selected
//! sections that contain selected atoms (`plan`), and gathers their numbers (`number`).

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

/// An open TRR file.
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
    /// Time of the first frame in ps.
    pub first_time: f64,
}

impl Trr {
    /// Opens a file. This reads only the first header. The file locates its frames when they are needed, or takes their
    /// positions from an index of the file in `keep`.
    pub fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        Ok(Trr { frames: LocatedFile::open(file, keep)? })
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.frames.file
    }

    /// Returns the same file with the frames after damage; see [`LocatedFile::past_damage`].
    #[must_use]
    pub(crate) fn past_damage(&self) -> Self {
        Trr { frames: self.frames.past_damage() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.frames.file.path()
    }

    /// Returns the contents of the first header.
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
        // Any frame may have quantities that the first frame lacks.
        Capabilities { quantities: Quantities::ALL, ..self.frames.capabilities() }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(reader::TrrReader::new(&self.frames, atoms, wanted)))
    }
}
