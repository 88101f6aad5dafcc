//! End conditions of a growing file. All of them are explicit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::process::Process;
use crate::error::{Error, Result};

/// Conditions for the end of a followed file. The first condition that is met ends the file. If `n_frames` is given, it
/// is an error if another condition is met earlier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// The file has this number of frames.
    pub n_frames: Option<u64>,
    /// Nothing was added to the file for this time.
    pub idle: Option<Duration>,
    /// A file with this name exists.
    pub stop_file: Option<PathBuf>,
    /// The process with this number has ended.
    pub process: Option<u32>,
}

impl Ending {
    /// Returns an error if there is no condition, because the file would be followed forever.
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

/// The end conditions and the state needed to check them.
#[derive(Debug)]
pub(super) struct Conditions {
    ending: Ending,
    process: Option<Process>,
    /// The last size seen.
    size: u64,
    /// The time at which the size last changed.
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

    /// Returns the reason why nothing will be added any more, if a stop file or a process signals it. Call this before
    /// reading the size of the file, so that everything written before counts.
    pub(crate) fn said(&self) -> Option<String> {
        if let Some(path) = self.ending.stop_file.as_ref().filter(|path| path.exists()) {
            return Some(format!("there is a file {}", path.display()));
        }
        let process = self.process.as_ref().filter(|process| process.has_ended())?;
        Some(format!("process {} has ended", process.number))
    }

    /// Records the size of the file. Returns the reason why nothing will be added any more, if the size has been the
    /// same for too long.
    pub(crate) fn see(&mut self, size: u64) -> Option<String> {
        if size != self.size {
            (self.size, self.since) = (size, Instant::now());
        }
        let idle = self.ending.idle.filter(|&idle| self.since.elapsed() >= idle)?;
        Some(format!("nothing was added for {} s", idle.as_secs_f64()))
    }
}
