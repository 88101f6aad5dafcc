//! Locks that show which processes are alive. Each lock is on a single byte of a file, and the kernel drops it when its holder
//! dies, however it dies.
//!
//! The locks belong to the open file (`F_OFD_SETLK`), not to a process number, which another process may get later. Forked
//! children do not keep them (`fork`).

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::directory::Directory;
use super::fork::Unshared;
use mdreel_core::error::{Error, Result};

/// The byte of the producer's lock. The bytes of the cursors follow.
pub(crate) const PRODUCER: u64 = 0;

/// The file of locks, opened by one party.
#[derive(Debug)]
pub(crate) struct Locks {
    path: PathBuf,
    file: Unshared,
}

impl Locks {
    /// Opens a file of locks in a directory, and creates it if it does not exist and `may_create` is true.
    pub(crate) fn open(directory: &Directory, name: &str, may_create: bool) -> Result<Self> {
        let path = directory.join(name);
        let file = Unshared::open(&path, || {
            let mut options = OpenOptions::new();
            directory.open_file(name, options.read(true).write(true).create(may_create).truncate(false))
        })?;
        Ok(Locks { path, file })
    }

    /// Returns an error if this process is a child that was forked after the file was opened.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// Returns whether this process itself has opened the file, not a process that it was forked from.
    pub(crate) fn is_ours(&self) -> bool {
        self.file.is_ours()
    }

    /// Takes the lock on a byte, unless another party has it. Returns whether the caller has it now.
    pub(crate) fn take(&self, byte: u64) -> Result<bool> {
        self.take_as(libc::F_WRLCK, byte)
    }

    /// Takes a shared lock on a byte, unless another party has an exclusive lock on it. Returns whether the caller has it now. An
    /// exclusive lock of this file becomes a shared one.
    pub(crate) fn take_shared(&self, byte: u64) -> Result<bool> {
        self.take_as(libc::F_RDLCK, byte)
    }

    fn take_as(&self, kind: libc::c_int, byte: u64) -> Result<bool> {
        match control(self.file.get()?, libc::F_OFD_SETLK, kind, byte, 1) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(Error::io(&self.path, error)),
        }
    }

    /// Releases the lock on a byte.
    pub(crate) fn give_back(&self, byte: u64) -> Result<()> {
        let outcome = control(self.file.get()?, libc::F_OFD_SETLK, libc::F_UNLCK, byte, 1);
        outcome.map(|_| ()).map_err(|error| Error::io(&self.path, error))
    }

    /// Releases all locks of this file.
    pub(crate) fn give_back_all(&self) -> Result<()> {
        let outcome = control(self.file.get()?, libc::F_OFD_SETLK, libc::F_UNLCK, 0, 0);
        outcome.map(|_| ()).map_err(|error| Error::io(&self.path, error))
    }

    /// Returns whether another party has a lock on a byte.
    pub(crate) fn is_taken(&self, byte: u64) -> Result<bool> {
        let seen = control(self.file.get()?, libc::F_OFD_GETLK, libc::F_WRLCK, byte, 1);
        seen.map(|kind| kind != libc::F_UNLCK).map_err(|error| Error::io(&self.path, error))
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        // Releases the locks before the file is closed. Closing alone would not do it at once: a process that is being started
        // has a copy of the descriptor until it executes its program.
        let _ = self.give_back_all();
    }
}

/// Makes a lock request for `length` bytes; a length of 0 means all bytes. Returns the kind of lock that the kernel writes into
/// the request.
fn control(
    file: &File,
    command: libc::c_int,
    kind: libc::c_int,
    byte: u64,
    length: libc::off_t,
) -> std::io::Result<libc::c_int> {
    let mut lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: length,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and the kernel writes only to the structure.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
    if answer == -1 { Err(std::io::Error::last_os_error()) } else { Ok(libc::c_int::from(lock.l_type)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_belongs_to_one_opening_of_the_file_and_ends_with_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("channel")).unwrap();
        assert!(Locks::open(&directory, "lock", false).is_err());
        let open = || Locks::open(&directory, "lock", true).unwrap();
        let (one, other) = (open(), open());
        assert!(one.take(3).unwrap() && other.take(4).unwrap());
        assert!(!other.take(3).unwrap());
        assert!(other.is_taken(3).unwrap() && !other.is_taken(4).unwrap() && one.is_taken(4).unwrap());
        drop(one);
        assert!(!other.is_taken(3).unwrap() && other.take(3).unwrap());
        other.give_back(3).unwrap();
        assert!(open().take(3).unwrap());
        // Several parties may share a lock; then no party can have it exclusively.
        let (one, other, third) = (open(), open(), open());
        assert!(one.take(7).unwrap() && !other.take_shared(7).unwrap());
        assert!(one.take_shared(7).unwrap() && other.take_shared(7).unwrap());
        assert!(!one.take(7).unwrap() && third.is_taken(7).unwrap());
        drop(one);
        assert!(third.is_taken(7).unwrap() && other.take(7).unwrap() && !third.take_shared(7).unwrap());
        // The last possible byte.
        let last = i64::MAX.cast_unsigned();
        assert!(other.take(last).unwrap() && !open().take(last).unwrap());
    }
}
