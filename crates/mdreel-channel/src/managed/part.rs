//! Files that are being written. They have hidden names, and a lock shows that their writers are alive.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::names::{MOST_NAME, MOST_PART, Part, is_visible};
use mdreel_core::error::{Error, Result};

/// Refuses names that a published file cannot have.
pub(super) fn check_name(directory: &Path, name: &OsStr) -> Result<()> {
    let bytes = name.as_bytes();
    if is_visible(bytes) && bytes.len() <= MOST_NAME {
        return Ok(());
    }
    let expected = format!("expected a name of 1 to {MOST_NAME} bytes without '/' that does not begin with a dot");
    Err(Error::mismatch(format!("{expected}, got {name:?} of {} bytes", bytes.len())).in_file(directory))
}

/// Creates the hidden file for a file that will be published as `name`, which the caller has checked. Returns its path and the
/// file.
pub(super) fn create(directory: &Path, name: &OsStr) -> Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut room = [0; MOST_PART];
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let part = Part { process: std::process::id(), number, name: name.as_bytes() };
        let hidden = part.write(&mut room).unwrap_or_default();
        let path = directory.join(OsStr::from_bytes(hidden));
        let mut options = OpenOptions::new();
        let file = match options.read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            // An earlier process with the same process number has left this file.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(Error::io(&directory.join(name), error)),
        };
        lock(&file);
        // Between creating and locking it, a producer may have removed the file as one that a dead writer has left.
        if file.metadata().map_err(|error| Error::io(&path, error))?.nlink() > 0 {
            return Ok((path, file));
        }
    }
}

/// Locks a file until it is closed, which shows that its writer is alive. On a file system without locks, this fails; no producer
/// removes the file there, because it cannot lock it either.
fn lock(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Releases the lock, also for processes forked in the meantime. Programs that read the file may need to lock it.
pub(super) fn unlock(file: &File) {
    let _ = flock(file, FlockOperation::Unlock);
}

/// Removes the hidden files whose writers have died.
pub(super) fn remove_leftovers(directory: &Path) -> Result<()> {
    for name in names(directory)? {
        if Part::read(name.as_bytes()).is_none() {
            continue;
        }
        let path = directory.join(&name);
        if is_abandoned(&path) {
            remove(&path)?;
        }
    }
    Ok(())
}

fn is_abandoned(path: &Path) -> bool {
    let open = |may_write| OpenOptions::new().read(true).write(may_write).custom_flags(libc::O_NOFOLLOW).open(path);
    // Locking a file on a network file system requires write access.
    open(true).or_else(|_| open(false)).is_ok_and(|file| lock(&file))
}

/// Removes a file that may already be gone.
pub(super) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}

/// Returns all names in a directory, including hidden ones.
pub(super) fn names(directory: &Path) -> Result<Vec<OsString>> {
    let refused = |error| Error::io(directory, error);
    let entries = std::fs::read_dir(directory).map_err(refused)?;
    entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(refused)).collect()
}
