//! XTC: GROMACS's compressed trajectories.

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

/// An XTC file that has been opened.
#[derive(Debug)]
pub struct Xtc {
    frames: LocatedFile<Header>,
    level: Level,
    /// Whether readers of all atoms check frames in full.
    checks_in_full: bool,
    /// Whether its first frames are packed as we pack them; found when it is first asked for.
    is_canonical: OnceLock<bool>,
}

/// Facts about an XTC file for `info`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// The magic number: 1995, or 2023 for frames of any size.
    pub magic: u32,
    /// Integers per nm of the first frame; `None` where coordinates are plain floats.
    pub precision: Option<f32>,
    /// Time of the first frame, ps.
    pub first_time: f64,
}

impl Xtc {
    /// Opens a file. Only its first header is read; frames are located when they have to be, and not at all when
    /// `keep` has an index of the file.
    pub fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        Ok(Xtc::new(LocatedFile::open(file, keep)?, Level::detect(), false))
    }

    fn new(frames: LocatedFile<Header>, level: Level, checks_in_full: bool) -> Self {
        Xtc { frames, level, checks_in_full, is_canonical: OnceLock::new() }
    }

    /// The checks of a reader of `n_atoms` atoms.
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

    /// The file.
    pub(super) fn bytes(&self) -> &FileBytes {
        &self.frames.file
    }

    /// The same file, with the frames behind damage; see `LocatedFile::past_damage`. Readers of all atoms also check
    /// each frame in full.
    #[must_use]
    pub fn past_damage(&self) -> Self {
        Xtc::new(self.frames.past_damage(), self.level, true)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.frames.file.path()
    }

    /// Decodes with the instructions of `level`: for tests and benchmarks.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Xtc { level, ..self }
    }

    /// Contents of the first header.
    pub fn facts(&self) -> Facts {
        let precision = match self.frames.first.storage {
            Storage::Plain => None,
            Storage::Compressed(Compression { precision, .. }) => Some(precision),
        };
        Facts { magic: self.frames.first.magic, precision, first_time: f64::from(self.frames.first.time) }
    }
}
