//! XTC: GROMACS's compressed trajectories.

pub mod coded;
pub mod control;
pub mod decode;
pub mod gather;
pub mod header;
mod locate;
pub mod radix;
mod reader;

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::bytes::FileBytes;
use super::frame_index::{FrameIndex, Keep};
use super::{AtomSelection, LocatedFrames, Reader, Source, StoredFrames};
use crate::error::{Error, Result};
use crate::frame::Quantities;
use crate::simd::Level;
use header::{Compression, Header, Storage};
use locate::{Located, error_at};

/// An XTC file that has been opened.
#[derive(Debug)]
pub struct Xtc {
    file: FileBytes,
    first: Header,
    keep: Keep,
    level: Level,
    /// Set once it was looked for a kept index.
    looked: OnceLock<()>,
    located: OnceLock<Located>,
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
    /// Whether bytes at the start of a file are those of an XTC file.
    pub fn recognises(start: &[u8]) -> bool {
        matches!(start.get(..4), Some([0, 0, 7, 0xcb | 0xe7]))
    }

    /// Opens a file. Only its first header is read; frames are located when they have to be, and not at all when
    /// `keep` has an index of the file.
    pub fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        if file.is_empty() {
            return Err(Error::format(file.path(), None, Some(0), "expected an XTC trajectory, the file is empty"));
        }
        let start = file.read_vec(0..file.len().min(header::MAX_HEADER_LEN as u64))?;
        let first = match Header::parse(&start) {
            Ok(Some(first)) => first,
            Ok(None) => {
                let message =
                    format!("the first frame is torn: the file ends after {} bytes, within its header", file.len());
                return Err(Error::format(file.path(), Some(0), Some(file.len()), message));
            }
            Err(fault) => return Err(error_at(file.path(), Some(0), 0, &fault)),
        };
        if let Err(fault) = locate::check_header(&start, 0, file.len(), first.n_atoms) {
            return Err(error_at(file.path(), Some(0), 0, &fault));
        }
        Ok(Xtc { file, first, keep, level: Level::detect(), looked: OnceLock::new(), located: OnceLock::new() })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Decodes with the instructions of `level`: for tests and benchmarks.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Xtc { level, ..self }
    }

    /// What the first header says.
    pub fn facts(&self) -> Facts {
        let precision = match self.first.storage {
            Storage::Plain => None,
            Storage::Compressed(Compression { precision, .. }) => Some(precision),
        };
        Facts { magic: self.first.magic, precision, first_time: f64::from(self.first.time) }
    }

    /// Where frames are, if that is known: from this run or from one before. Of a file that has grown since, the new
    /// part is located.
    fn known(&self) -> Option<&Located> {
        self.looked.get_or_init(|| {
            let Some(index) = FrameIndex::load(&self.file, self.keep) else { return };
            if index.end == self.file.len() {
                let _ = self.located.set(Located { index, rest: None });
            } else if let Ok(located) = locate::scan(&self.file, self.first.n_atoms, Some(index)) {
                self.set_located(located);
            }
        });
        self.located.get()
    }

    fn located(&self) -> Result<&Located> {
        if let Some(located) = self.known() {
            return Ok(located);
        }
        Ok(self.set_located(locate::scan(&self.file, self.first.n_atoms, None)?))
    }

    fn set_located(&self, located: Located) -> &Located {
        self.located.get_or_init(|| {
            // That the index cannot be kept costs time in the next run, and nothing in this one.
            let _ = located.index.save(&self.file, self.keep);
            located
        })
    }
}

impl Source for Xtc {
    fn n_atoms(&self) -> usize {
        self.first.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.located()?.index.len() as u64)
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.located()?.index.frames().map(|frame| frame.time).collect())
    }

    fn n_bytes(&self) -> u64 {
        self.file.len()
    }

    fn check_end(&self) -> Result<()> {
        let located = self.located()?;
        match &located.rest {
            None => Ok(()),
            Some(fault) => {
                let n = located.index.len();
                let message = format!(
                    "{}; {n} whole frames come before it (ask for no more than these to use them)",
                    fault.message
                );
                Err(Error::format(self.file.path(), Some(n as u64), Some(fault.byte), message))
            }
        }
    }

    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        let whole = 0..self.file.len();
        self.known().is_none().then(|| [whole].into())
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        let mut index = FrameIndex::default();
        for part in parts {
            let Some(first) = part.first else { continue };
            if first != index.end {
                return Ok(false);
            }
            index.extend(part.frames);
            index.end = part.end;
        }
        if index.end != self.file.len() {
            return Ok(false);
        }
        self.set_located(Located { index, rest: None });
        Ok(true)
    }

    fn precision(&self) -> Option<f32> {
        self.facts().precision
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        if frames.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let index = &self.located()?.index;
        let range = |frame: u64| {
            let (path, n_frames) = (self.path().to_owned(), index.len() as u64);
            index.range(frame as usize).ok_or(Error::FrameIndex { path, frame, n_frames })
        };
        let bytes = range(frames.start)?.start..range(frames.end - 1)?.end;
        let n_frames = frames.end - frames.start;
        Ok(Some(vec![StoredFrames { format: "XTC", file: &self.file, bytes, n_frames }]))
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(reader::XtcReader::new(self, atoms)))
    }
}
