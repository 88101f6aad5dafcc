//! File that gets its final name when it is complete.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::final_name::give_name;
use crate::error::{Error, Result};

/// A file under a temporary name beside its final one, which it gets in [`PartFile::finish`]. One that is dropped
/// before leaves nothing behind; a killed process leaves the temporary file.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    is_done: bool,
}

impl PartFile {
    /// Begins a file. `path` is not touched until the file is complete.
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

    /// Its final name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Acts on the file; an error names it as it will be called.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        act(&mut self.file).map_err(|error| Error::io(&self.path, error))
    }

    /// Gives the file its name, in place of a file that had it before. File and name are on the disk when this returns.
    pub(crate) fn finish(mut self) -> Result<()> {
        // What a full disk or a lost connection took is told here at the latest.
        give_name(&self.file, &self.temporary, &self.path).map_err(|error| Error::io(&self.path, error))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_done {
            // Nobody is left who could be told.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Number that is unique within this process.
fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
