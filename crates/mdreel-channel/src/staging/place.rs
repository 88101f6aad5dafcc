//! Where the frames of a channel are staged: said in the channel's directory, for its consumers.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::super::directory::Directory;
use super::super::record;
use super::{Durability, Staging};
use mdreel_core::error::{Error, Result};

const NAME: &str = "staging";
const MAGIC: &[u8; 8] = b"MDREELSP";

/// Where frames are staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagingPlace {
    /// The directory.
    pub path: PathBuf,
    /// What a frame in it survives.
    pub level: Durability,
}

impl StagingPlace {
    /// The place that a channel names, if it does.
    pub(crate) fn of(channel: &Directory) -> Result<Option<Self>> {
        let read: Option<(Vec<u8>, Durability)> = record::read_if_there(channel, NAME, MAGIC)?;
        Ok(read.map(|(path, level)| StagingPlace { path: PathBuf::from(OsString::from_vec(path)), level }))
    }

    /// Has a channel name the place of its staging, or none.
    pub(in super::super) fn note(channel: &Directory, staging: Option<&Staging>) -> Result<()> {
        if let Some(staging) = staging.filter(|staging| staging.level > Durability::Ring) {
            let path = staging.directory.path().as_os_str().as_bytes().to_vec();
            return record::write(channel, NAME, MAGIC, &(path, staging.level), false);
        }
        let path = channel.join(NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path, error)),
            _ => Ok(()),
        }
    }
}
