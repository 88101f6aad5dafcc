//! The place where the frames of a channel are staged. A file in the channel's directory names it for the consumers.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::directory::Directory;
use super::super::record;
use mdreel_core::error::{Error, Result};

const NAME: &str = "staging";
const MAGIC: &[u8; 8] = b"MDREELSP";

/// The failures that a frame survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Durability {
    /// The death of any single process.
    Ring,
    /// The death of all processes.
    File,
    /// A crash of the machine.
    Fsync,
}

/// The place where frames are staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagingPlace {
    /// The directory of the staging.
    pub path: PathBuf,
    /// The durability of the frames in it.
    pub level: Durability,
}

impl StagingPlace {
    /// Returns the place that a channel names, or `None` if it names none.
    pub(crate) fn of(channel: &Directory) -> Result<Option<Self>> {
        let read: Option<(Vec<u8>, Durability)> = record::read_if_there(channel, NAME, MAGIC)?;
        Ok(read.map(|(path, level)| StagingPlace { path: PathBuf::from(OsString::from_vec(path)), level }))
    }

    /// Returns the place that a producer with this staging records, or `None` if nothing is staged.
    pub(crate) fn to_note(staging: Option<(&Path, Durability)>) -> Option<Self> {
        let staged = staging.filter(|(_, level)| *level > Durability::Ring);
        staged.map(|(path, level)| StagingPlace { path: path.to_owned(), level })
    }

    /// Records the place of a channel's staging for its consumers, or removes the record if nothing is staged.
    pub(crate) fn note(channel: &Directory, staging: Option<(&Path, Durability)>) -> Result<()> {
        if let Some(StagingPlace { path, level }) = Self::to_note(staging) {
            return record::write(channel, NAME, MAGIC, &(path.into_os_string().into_vec(), level), false);
        }
        let path = channel.join(NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path, error)),
            _ => Ok(()),
        }
    }
}
