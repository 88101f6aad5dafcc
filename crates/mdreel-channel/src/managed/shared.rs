//! What all that work with a managed directory share.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::alarm::Alarm;
use super::life::Watch;
use super::part::remove;
use crate::directory::Directory;
use crate::lock::Locks;
use mdreel_core::error::{Error, Result};

/// How a producer opens a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Whether a published file survives the machine, and not only all processes.
    pub is_synced: bool,
    /// How many published files stay: the oldest ones go. All for `None`.
    pub keep: Option<usize>,
    /// Whether there may be other producers, which say the same.
    pub is_shared: bool,
}

/// What a producer has besides what readers have.
#[derive(Debug)]
pub(super) struct Producing {
    pub(super) settings: Settings,
    /// Holds the lock that shows that this producer is running.
    pub(super) locks: Locks,
    /// From the oldest to the newest; with `keep` only.
    pub(super) published: Mutex<VecDeque<OsString>>,
    pub(super) is_ended: AtomicBool,
}

/// A directory, for all that work with it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    pub(super) watch: Watch,
    pub(super) producing: Option<Producing>,
    /// That of who waited last: the kernel takes 10 ms to end one, which the next file would come late.
    pub(super) alarm: Mutex<Option<Alarm>>,
}

impl Shared {
    pub(super) fn new(directory: Directory, producing: Option<Producing>) -> Arc<Self> {
        Arc::new(Shared { watch: Watch::new(directory.clone()), directory, producing, alarm: Mutex::new(None) })
    }

    /// What only producers may do, and only as long as they have not ended.
    pub(super) fn producing(&self) -> Result<&Producing> {
        let Some(producing) = &self.producing else {
            return Err(
                Error::stream("it was opened for reading: a producer creates it").in_file(self.directory.path())
            );
        };
        producing.locks.check()?;
        if producing.is_ended.load(Ordering::Acquire) {
            return Err(Error::stream("this producer has ended").in_file(self.directory.path()));
        }
        Ok(producing)
    }

    /// Whether a published file has to survive the machine. Refused where nothing can be published any more.
    pub(crate) fn is_synced(&self) -> Result<bool> {
        Ok(self.producing()?.settings.is_synced)
    }

    /// Whether this process has opened it as a producer, and not one that it was forked from.
    pub(crate) fn is_ours(&self) -> bool {
        self.producing.as_ref().is_some_and(|producing| producing.locks.is_ours())
    }

    /// Takes note of a file that was published; removes the oldest one if there are too many.
    pub(crate) fn note_published(&self, name: &OsStr) -> Result<()> {
        let producing = self.producing()?;
        let Some(keep) = producing.settings.keep else { return Ok(()) };
        let mut published = producing.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.retain(|other| other != name);
        published.push_back(name.to_owned());
        while published.len() > keep
            && let Some(oldest) = published.pop_front()
        {
            remove(&self.directory.path().join(oldest))?;
        }
        Ok(())
    }
}

/// The published file at a path; `None` if it is not there.
pub(super) fn open_published(path: &Path) -> Result<Option<File>> {
    // Without waiting for the other end of what is no file.
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path, error)),
    };
    if !file.metadata().map_err(|error| Error::io(path, error))?.is_file() {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "expected a file");
        return Err(Error::io(path, error));
    }
    Ok(Some(file))
}
