//! Final names of files. Only this module gives an output file the name under which programs trust it.

use std::fs::File;
#[cfg(unix)]
use std::io::ErrorKind;
use std::io::Result;
use std::path::Path;

/// Gives a file its final name, and replaces a file that had the name before. When this returns, the file and its name
/// are on disk: they survive a power failure, and the data from which the file was made may be removed.
///
/// # Errors
/// Returns the error of the operating system if the file or its name could not be written. A file without its final
/// name must not be trusted.
pub(crate) fn give_name(file: &File, temporary: &Path, path: &Path) -> Result<()> {
    file.sync_all()?;
    std::fs::rename(temporary, path)?;
    sync_directory_of(path)
}

/// Gives a file its final name without waiting for the disk. At any moment, either the old or the new file has the
/// name, but after a power failure the content may be missing. This function is for files that are then made again:
/// channels, which are in memory, and the frame index, which only saves time and has a checksum.
///
/// # Errors
/// Returns the error of the operating system.
pub fn give_name_until_power_fails(temporary: &Path, path: &Path) -> Result<()> {
    std::fs::rename(temporary, path)
}

/// Syncs a directory, so that its entries are on disk. Some file systems cannot do this, and it requires read
/// permission for the directory. Neither is an error.
///
/// # Errors
/// Returns the error of the disk.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if cannot_sync(&error) => Ok(()),
        outcome => outcome,
    }
}

/// Does nothing: only Unix opens directories as files.
///
/// # Errors
/// Never returns an error.
#[cfg(not(unix))]
pub fn sync_directory(_directory: &Path) -> Result<()> {
    Ok(())
}

/// Syncs the directory that contains `path`, like [`sync_directory`].
///
/// # Errors
/// See [`sync_directory`].
pub(crate) fn sync_directory_of(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_directory(parent.unwrap_or(Path::new(".")))
}

#[cfg(unix)]
fn cannot_sync(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && error.raw_os_error() == Some(libc::EACCES)
        || matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP | libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn file_system_that_cannot_sync_a_directory_is_no_failure_and_a_broken_disk_is_one() {
        let of = std::io::Error::from_raw_os_error;
        for number in [libc::EINVAL, libc::ENOTSUP, libc::ENOSYS, libc::EACCES] {
            assert!(cannot_sync(&of(number)), "{number}");
        }
        for number in [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EROFS, libc::ENOENT] {
            assert!(!cannot_sync(&of(number)), "{number}");
        }
    }

    #[test]
    fn file_takes_the_place_of_another_one() {
        let place = tempfile::tempdir().unwrap();
        let [temporary, path] = ["new", "final"].map(|name| place.path().join(name));
        for give in [give_name, |_: &File, from: &Path, to: &Path| give_name_until_power_fails(from, to)] {
            std::fs::write(&path, "before").unwrap();
            std::fs::write(&temporary, "after").unwrap();
            give(&File::open(&temporary).unwrap(), &temporary, &path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"after");
            assert!(!temporary.exists());
        }
        sync_directory(place.path()).unwrap();
        assert_eq!(sync_directory(&path.join("below")).unwrap_err().kind(), ErrorKind::NotADirectory);
    }
}
