//! Room on the disk of a staging that is kept for commits.
//!
//! A disk that is full of frames gets room when groups commit, as retention then deletes what they have had. A commit needs room
//! itself. So where there are groups, a file keeps some: who has to write a small file, and finds no room, deletes it. The producer
//! makes it again before it writes the next frame, or refuses that frame.

use std::io::ErrorKind;

use super::super::directory::Directory;
use mdreel_core::error::{Error, Result};

const NAME: &str = "reserve";
/// As much as the longest commits of two members take, beside each other.
const LENGTH: u64 = 136 << 10;

/// Whether an error says that the disk, or the part of it that the user may have, is full.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { error, .. } if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

pub(super) fn is_kept(directory: &Directory) -> bool {
    directory.join(NAME).symlink_metadata().is_ok()
}

/// Keeps the room, unless it is kept. An error says that the disk is full; that a file system cannot keep any is none.
pub(crate) fn keep(directory: &Directory) -> Result<()> {
    if is_kept(directory) {
        return Ok(());
    }
    match directory.place_file(NAME, LENGTH, |_, _| Ok(())) {
        Err(error) if is_full(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Gives the room to who needs it; whether there was any.
pub(crate) fn give_back(directory: &Directory) -> bool {
    std::fs::remove_file(directory.join(NAME)).is_ok()
}
