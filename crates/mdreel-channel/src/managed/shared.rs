//! State that producers and readers of a managed directory share within a process.

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

/// The settings with which a producer opens a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Whether a published file must survive a crash of the machine, and not only of the processes.
    pub is_synced: bool,
    /// The number of published files to keep; older ones are removed. `None` keeps all.
    pub keep: Option<usize>,
    /// Whether other producers may use the directory; they must set this as well.
    pub is_shared: bool,
}

/// The additional state of a producer.
#[derive(Debug)]
pub(super) struct Producing {
    pub(super) settings: Settings,
    /// Holds the lock that shows that this producer is running.
    pub(super) locks: Locks,
    /// The published files from the oldest to the newest; filled only with `keep`.
    pub(super) published: Mutex<VecDeque<OsString>>,
    pub(super) is_ended: AtomicBool,
}

/// An open directory.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    pub(super) watch: Watch,
    pub(super) producing: Option<Producing>,
    /// The alarm of the last waiter, for reuse. The kernel takes 10 ms to close one, which would delay the next file.
    pub(super) alarm: Mutex<Option<Alarm>>,
}

impl Shared {
    pub(super) fn new(directory: Directory, producing: Option<Producing>) -> Arc<Self> {
        Arc::new(Shared { watch: Watch::new(directory.clone()), directory, producing, alarm: Mutex::new(None) })
    }

    /// Returns the producer's state. It is an error if this is a reader, if this process is a forked child, or if the producer
    /// has ended.
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

    /// Returns whether a published file must survive a crash of the machine. It is an error if no file can be published any more.
    pub(crate) fn is_synced(&self) -> Result<bool> {
        Ok(self.producing()?.settings.is_synced)
    }

    /// Returns whether this process itself has opened the directory as a producer, not a process that it was forked from.
    pub(crate) fn is_ours(&self) -> bool {
        self.producing.as_ref().is_some_and(|producing| producing.locks.is_ours())
    }

    /// Records a published file, and removes the oldest ones if there are too many.
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

/// Opens the published file at a path; `None` if it does not exist.
pub(super) fn open_published(path: &Path) -> Result<Option<File>> {
    // `O_NONBLOCK` avoids waiting for the other end if the path is not a file but a pipe.
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
