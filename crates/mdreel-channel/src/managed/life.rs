//! How it stands with the producers of a directory: whether files may still come.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::names::{LOCK, PRODUCER};
use super::state::State;
use crate::directory::Directory;
use crate::end::End;
use crate::lock::Locks;
use mdreel_core::error::{Error, Result};

/// What is known of the producers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// None has been here.
    Unborn,
    /// One lives.
    Alive,
    /// They have ended, as they have said.
    Ended(End),
    /// The last one has died.
    Lost,
}

/// The eye of one process on the producers.
#[derive(Debug)]
pub(super) struct Watch {
    directory: Directory,
    /// The file of locks, from when there is one.
    locks: Mutex<Option<Locks>>,
}

impl Watch {
    pub(crate) fn new(directory: Directory) -> Self {
        Watch { directory, locks: Mutex::new(None) }
    }

    /// The path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How it stands. What was published before an end or a death is there when this tells of that.
    pub(crate) fn look(&self) -> Result<Life> {
        match State::read(&self.directory)? {
            Some(State::Ended(end)) => return Ok(Life::Ended(end)),
            None => return Ok(if self.is_alive()? { Life::Alive } else { Life::Unborn }),
            Some(State::Open) => {}
        }
        if self.is_alive()? {
            return Ok(Life::Alive);
        }
        // One that has ended in between has left word before it gave the lock back.
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
