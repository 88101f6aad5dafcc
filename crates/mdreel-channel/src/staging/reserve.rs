//! Space on the disk that is reserved for the commits of groups.
//!
//! When groups commit, retention deletes the frames that they have processed, and a full disk has space again. A commit needs space
//! itself, however. If there are groups, a file therefore reserves some. A process that has to write a small file and finds no
//! space deletes the reserve. The producer creates it again before it writes the next frame, and refuses the frame if this fails.

use std::io::ErrorKind;

use super::super::directory::Directory;
use mdreel_core::error::{Error, Result};

const NAME: &str = "reserve";
/// The size of the reserve in bytes. The longest commits of two members fit into it at the same time.
const LENGTH: u64 = 136 << 10;

/// Returns whether an error means that the disk is full, or that the quota of the user is exceeded.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { error, .. } if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

pub(super) fn is_kept(directory: &Directory) -> bool {
    directory.join(NAME).symlink_metadata().is_ok()
}

/// Creates the reserve unless it exists. Returns an error if the disk is full, but not if the file system cannot reserve space.
pub(crate) fn keep(directory: &Directory) -> Result<()> {
    if is_kept(directory) {
        return Ok(());
    }
    match directory.place_file(NAME, LENGTH, |_, _| Ok(())) {
        Err(error) if is_full(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Deletes the reserve, so that the caller can use its space. Returns whether there was one.
pub(crate) fn give_back(directory: &Directory) -> bool {
    std::fs::remove_file(directory.join(NAME)).is_ok()
}
