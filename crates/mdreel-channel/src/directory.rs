//! The directory of a channel, with checks of its owner and its access rights.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD};

use mdreel_core::error::{Error, Result};
use mdreel_core::writer::final_name::{give_name_until_power_fails, sync_directory};

/// A directory that was checked to belong to the user, with no rights for others.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Creates the directory if it does not exist, and checks it.
    pub fn create(path: &Path) -> Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Error::io(path, error)),
            _ => Self::open(path),
        }
    }

    /// Checks a directory. Its content is trusted only if it belongs to the user and has no rights for others.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let facts = path.symlink_metadata().map_err(|error| Error::io(path, error))?;
        if !facts.is_dir() {
            return Err(refused(path, "expected the directory of a channel, not a file".to_owned()));
        }
        check_owner(path, &facts)?;
        Ok(Directory { path: path.to_owned() })
    }

    /// Returns the path of a file in the directory.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the directory, so that the disk keeps the names of its files.
    pub(crate) fn sync(&self) -> Result<()> {
        sync_directory(&self.path).map_err(|error| Error::io(&self.path, error))
    }

    /// Opens a file in the directory. The file must belong to the user, have no rights for others, and not be a link.
    pub(crate) fn open_file(&self, name: &str, options: &mut OpenOptions) -> Result<File> {
        let path = self.join(name);
        let file = options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path);
        let file = file.map_err(|error| Error::io(&path, error))?;
        let facts = file.metadata().map_err(|error| Error::io(&path, error))?;
        if !facts.is_file() {
            return Err(refused(&path, "expected a file".to_owned()));
        }
        check_owner(&path, &facts)?;
        Ok(file)
    }

    /// Creates a file that has no name in the directory. Not all file systems can do this.
    pub(crate) fn open_unnamed_file(&self) -> Result<File> {
        let file = OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(&self.path);
        file.map_err(|error| Error::io(&self.path, error))
    }

    /// Gives a name to a file of `open_unnamed_file`. Returns an error if the name exists.
    pub(crate) fn give_first_name(&self, file: &File, name: &str) -> Result<()> {
        let (path, here) = (self.join(name), format!("/proc/self/fd/{}", file.as_raw_fd()));
        let named = rustix::fs::linkat(CWD, here, CWD, &path, AtFlags::SYMLINK_FOLLOW);
        named.map_err(|error| Error::io(&path, error.into()))
    }

    /// Creates a file of `length` bytes that is either complete or absent, because `fill` writes it before it gets its name. For
    /// a file that must survive a crash of the machine, `fill` syncs the file, and the caller then calls `sync` for the
    /// directory.
    pub(crate) fn place_file(
        &self,
        name: &str,
        length: u64,
        fill: impl FnOnce(&Path, &File) -> Result<()>,
    ) -> Result<()> {
        let part = format!("{name}.new");
        let (path, part_path) = (self.join(name), self.join(&part));
        match std::fs::remove_file(&part_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&part_path, error)),
            _ => {}
        }
        let file = self.open_file(&part, OpenOptions::new().read(true).write(true).create_new(true))?;
        if length > 0 {
            // On a full disk, this returns an error; otherwise, a signal would come when the memory is touched.
            let refused = |error: rustix::io::Errno| Error::io(&path, error.into());
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length).map_err(refused)?;
        }
        let outcome = fill(&part_path, &file)
            .and_then(|()| give_name_until_power_fails(&part_path, &path).map_err(|error| Error::io(&path, error)));
        if outcome.is_err() {
            // On a full disk, the partial file would occupy space that is needed elsewhere.
            let _ = std::fs::remove_file(&part_path);
        }
        outcome
    }
}

fn refused(path: &Path, message: String) -> Error {
    Error::io(path, std::io::Error::new(std::io::ErrorKind::PermissionDenied, message))
}

fn check_owner(path: &Path, facts: &std::fs::Metadata) -> Result<()> {
    let user = rustix::process::geteuid().as_raw();
    if facts.uid() != user {
        return Err(refused(path, format!("expected it to belong to user {user}, got {}", facts.uid())));
    }
    let mode = facts.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(refused(path, format!("expected no rights for others, got mode {mode:o}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn directory_and_files_of_others_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("channel");
        let directory = Directory::create(&path).unwrap();
        Directory::create(&path).unwrap();
        directory.place_file("ring", 100, |_, _| Ok(())).unwrap();
        assert_eq!(path.join("ring").metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        let open = |name: &str| directory.open_file(name, OpenOptions::new().read(true));
        open("ring").unwrap();
        std::fs::set_permissions(path.join("ring"), PermissionsExt::from_mode(0o640)).unwrap();
        assert!(open("ring").unwrap_err().to_string().contains("mode 640"));
        symlink(path.join("ring"), path.join("link")).unwrap();
        assert!(open("link").is_err());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(Directory::open(&path).is_err() && Directory::create(&path).is_err());
        symlink(&path, place.path().join("link")).unwrap();
        assert!(Directory::open(&place.path().join("link")).is_err());
    }
}
