//! Files that get their final names when they are complete.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::final_name::give_name;
use crate::error::{Error, Result};

/// A file under a temporary name in the directory of its final name. [`PartFile::finish`] gives it the final name.
/// Dropping it earlier removes the file. Only a killed process leaves the temporary file behind.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    is_done: bool,
}

impl PartFile {
    /// Creates the file. `path` is not touched until the file is complete.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::io(path, std::io::ErrorKind::IsADirectory.into()));
        }
        let Some(name) = path.file_name() else {
            return Err(Error::io(path, std::io::ErrorKind::InvalidInput.into()));
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{}.part", std::process::id(), unique()));
        let temporary = path.with_file_name(hidden);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary);
        let file = file.map_err(|error| Error::io(path, error))?;
        Ok(PartFile { path: path.to_owned(), temporary, file, is_done: false })
    }

    /// Returns the final name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `act` with the file. Errors contain the final name of the file.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        act(&mut self.file).map_err(|error| Error::io(&self.path, error))
    }

    /// Gives the file its final name, and replaces a file that had the name before. File and name are on disk when this
    /// returns.
    pub(crate) fn finish(mut self) -> Result<()> {
        // Data lost to a full disk or a broken connection causes an error here at the latest.
        give_name(&self.file, &self.temporary, &self.path).map_err(|error| Error::io(&self.path, error))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_done {
            // In a destructor, an error cannot be reported.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Returns a number that is unique within this process.
fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
