//! The state of the producers of a directory, which shows whether files may still come.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::names::{LOCK, PRODUCER};
use super::state::State;
use crate::directory::Directory;
use crate::end::End;
use crate::lock::Locks;
use mdreel_core::error::{Error, Result};

/// The state of the producers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// No producer has used the directory.
    Unborn,
    /// A producer is alive.
    Alive,
    /// The producers have ended, and have recorded how.
    Ended(End),
    /// The last producer has died without an end record.
    Lost,
}

/// A process's observer of the producers.
#[derive(Debug)]
pub(super) struct Watch {
    directory: Directory,
    /// The file of locks, opened once it exists.
    locks: Mutex<Option<Locks>>,
}

impl Watch {
    pub(crate) fn new(directory: Directory) -> Self {
        Watch { directory, locks: Mutex::new(None) }
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the state of the producers. If it reports an end or a death, all files published before that are visible.
    pub(crate) fn look(&self) -> Result<Life> {
        match State::read(&self.directory)? {
            Some(State::Ended(end)) => return Ok(Life::Ended(end)),
            None => return Ok(if self.is_alive()? { Life::Alive } else { Life::Unborn }),
            Some(State::Open) => {}
        }
        if self.is_alive()? {
            return Ok(Life::Alive);
        }
        // A producer that has ended in between has written its end record before it released the lock.
        match State::read(&self.directory)? {
            Some(State::Ended(end)) => Ok(Life::Ended(end)),
            Some(State::Open) => Ok(Life::Lost),
            None => Ok(Life::Unborn),
        }
    }

    fn is_alive(&self) -> Result<bool> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.as_ref().is_none_or(|locks| !locks.is_ours()) {
            *locks = match Locks::open(&self.directory, LOCK, false) {
                Ok(opened) => Some(opened),
                Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
        }
        locks.as_ref().map_or(Ok(false), |locks| locks.is_taken(PRODUCER))
    }
}
