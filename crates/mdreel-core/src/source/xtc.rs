//! Reader of XTC files, the compressed trajectories of GROMACS.

pub mod alone;
mod as_source;
mod canonical;
pub(crate) mod coded;
pub(crate) mod control;
pub(crate) mod decode;
mod extremes;
mod full_checks;
pub(crate) mod gather;
pub(crate) mod header;
mod plain;
pub(crate) mod radix;
mod reader;

use std::path::Path;
use std::sync::OnceLock;

use super::Source;
use super::bytes::FileBytes;
use super::frame_index::Keep;
use super::located::LocatedFile;
use crate::error::Result;
use crate::simd::Level;
use full_checks::FullChecks;
use header::{Compression, Header, Storage};

/// An open XTC file.
#[derive(Debug)]
pub struct Xtc {
    frames: LocatedFile<Header>,
    level: Level,
    /// Whether readers of all atoms check frames in full.
    checks_in_full: bool,
    /// Whether the writer packed the first frames as mdreel does. The first reader that needs this value determines it.
    is_canonical: OnceLock<bool>,
}

/// Facts about an XTC file for `info`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Magic number: 1995, or 2023 for frames of any size.
    pub magic: u32,
    /// Integers per nm of the first frame; `None` if the coordinates are plain floats.
    pub precision: Option<f32>,
    /// Time of the first frame in ps.
    pub first_time: f64,
}

impl Xtc {
    /// Opens a file. This reads only the first header. The file locates its frames when they are needed, or takes their
    /// positions from an index of the file in `keep`.
    pub fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        Ok(Xtc::new(LocatedFile::open(file, keep)?, Level::detect(), false))
    }

    fn new(frames: LocatedFile<Header>, level: Level, checks_in_full: bool) -> Self {
        Xtc { frames, level, checks_in_full, is_canonical: OnceLock::new() }
    }

    /// Returns the checks for a reader of `n_atoms` atoms.
    fn full_checks(&self, n_atoms: usize) -> Result<Option<FullChecks>> {
        if !self.checks_in_full || n_atoms < self.n_atoms() {
            return Ok(None);
        }
        let is_canonical = match self.is_canonical.get() {
            Some(&known) => known,
            None => *self.is_canonical.get_or_init({
                let found = canonical::is_kept(&self.frames)?;
                move || found
            }),
        };
        Ok(Some(FullChecks::new(is_canonical)))
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.frames.file
    }

    /// Returns the same file with the frames after damage; see `LocatedFile::past_damage`. Readers of all atoms also
    /// check each frame in full.
    #[must_use]
    pub fn past_damage(&self) -> Self {
        Xtc::new(self.frames.past_damage(), self.level, true)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.frames.file.path()
    }

    /// Selects the instructions of `level` for decoding, for tests and benchmarks.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Xtc { level, ..self }
    }

    /// Returns the contents of the first header.
    pub fn facts(&self) -> Facts {
        let precision = match self.frames.first.storage {
            Storage::Plain => None,
            Storage::Compressed(Compression { precision, .. }) => Some(precision),
        };
        Facts { magic: self.frames.first.magic, precision, first_time: f64::from(self.frames.first.time) }
    }
}
