//! End conditions of a growing file. All of them are explicit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::process::Process;
use crate::error::{Error, Result};

/// When a file that is followed has come to its end. The first condition that is met ends it; where `n_frames` is
/// given, any other that is met before is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// It has so many frames.
    pub n_frames: Option<u64>,
    /// Nothing was added for so long.
    pub idle: Option<Duration>,
    /// There is a file of this name.
    pub stop_file: Option<PathBuf>,
    /// The process of this number has ended.
    pub process: Option<u32>,
}

impl Ending {
    /// Refuses to follow without an end.
    pub(crate) fn check(&self, path: &Path) -> Result<()> {
        if *self == Ending::default() {
            return Err(Error::mismatch(
                "following would never end: give a number of frames, a time without growth, a stop file or a process",
            )
            .in_file(path));
        }
        if self.n_frames == Some(0) {
            return Err(Error::mismatch("a file is followed to 1 frame or more, not to 0").in_file(path));
        }
        Ok(())
    }
}

/// Looks after the conditions.
#[derive(Debug)]
pub(super) struct Conditions {
    ending: Ending,
    process: Option<Process>,
    /// The largest size seen, and since when.
    size: u64,
    since: Instant,
}

impl Conditions {
    pub(crate) fn new(ending: Ending) -> Result<Self> {
        let process = ending.process.map(Process::new).transpose()?;
        Ok(Conditions { ending, process, size: 0, since: Instant::now() })
    }

    pub(crate) fn n_frames(&self) -> Option<u64> {
        self.ending.n_frames
    }

    /// Why nothing will be added any more, if somebody has said so. To be asked before the file is looked at, so that
    /// what was written before counts.
    pub(crate) fn said(&self) -> Option<String> {
        if let Some(path) = self.ending.stop_file.as_ref().filter(|path| path.exists()) {
            return Some(format!("there is a file {}", path.display()));
        }
        let process = self.process.as_ref().filter(|process| process.has_ended())?;
        Some(format!("process {} has ended", process.number))
    }

    /// Takes note of the file's size; says why nothing will be added any more if it has been the same for too long.
    pub(crate) fn see(&mut self, size: u64) -> Option<String> {
        if size != self.size {
            (self.size, self.since) = (size, Instant::now());
        }
        let idle = self.ending.idle.filter(|&idle| self.since.elapsed() >= idle)?;
        Some(format!("nothing was added for {} s", idle.as_secs_f64()))
    }
}
