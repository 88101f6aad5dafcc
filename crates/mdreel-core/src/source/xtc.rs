//! XTC: GROMACS's compressed trajectories.

pub mod alone;
mod canonical;
pub(crate) mod coded;
pub(crate) mod control;
pub(crate) mod decode;
mod extremes;
mod full_checks;
pub(crate) mod gather;
pub(crate) mod header;
pub(crate) mod radix;
mod reader;

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::bytes::FileBytes;
use super::frame_index::Keep;
use super::located::LocatedFile;
use super::places::Places;
use super::{AtomSelection, LocatedFrames, Reader, Source, StoredFrames};
use crate::error::Result;
use crate::frame::Quantities;
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

/// What `info` tells about an XTC file.
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

    /// What the first header says.
    pub fn facts(&self) -> Facts {
        let precision = match self.frames.first.storage {
            Storage::Plain => None,
            Storage::Compressed(Compression { precision, .. }) => Some(precision),
        };
        Facts { magic: self.frames.first.magic, precision, first_time: f64::from(self.frames.first.time) }
    }
}

impl Source for Xtc {
    fn n_atoms(&self) -> usize {
        self.frames.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.frames.n_frames()
    }

    fn times(&self) -> Result<Vec<f64>> {
        self.frames.times()
    }

    fn file(&self) -> Option<&FileBytes> {
        Some(&self.frames.file)
    }

    fn n_bytes(&self) -> u64 {
        self.frames.file.len()
    }

    fn check_end(&self) -> Result<()> {
        self.frames.check_end()
    }

    fn frame_offset(&self, frame: u64) -> Result<Option<u64>> {
        self.frames.range(frame).map(|range| Some(range.start))
    }

    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        self.frames.unlocated_bytes()
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        Ok(self.frames.locate(parts))
    }

    fn places(&self) -> Vec<Places> {
        vec![self.frames.places()]
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        places.next().map_or(Ok(()), |known| self.frames.take_places(known))
    }

    fn precision(&self) -> Option<f32> {
        self.facts().precision
    }

    fn stored_format(&self) -> Option<&'static str> {
        Some("XTC")
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        self.frames.stored_frames("XTC", frames).map(Some)
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(reader::XtcReader::new(self, atoms, self.full_checks(atoms.len())?)))
    }
}
