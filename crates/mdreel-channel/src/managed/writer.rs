//! A file that is being written in a managed directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::part;
use super::shared::Shared;
use mdreel_core::error::{Error, Result};
use mdreel_core::writer::final_name::give_name_until_power_fails;

/// A file under a hidden name, which [`Writer::publish`] renames to its final name. If a writer is dropped before that, it
/// removes the file. The next producer removes files of killed processes.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    name: OsString,
    part: PathBuf,
    file: File,
    /// The first write error. After it, the file can never be complete.
    failure: Option<Error>,
    is_published: bool,
}

impl Writer {
    /// Begins a file whose name the caller has checked.
    pub(super) fn create(shared: Arc<Shared>, name: &OsStr) -> Result<Self> {
        let (part, file) = part::create(shared.directory.path(), name)?;
        Ok(Writer { shared, name: name.to_owned(), part, file, failure: None, is_published: false })
    }

    /// Returns the path that the file will have when it is published.
    pub fn path(&self) -> PathBuf {
        self.shared.directory.path().join(&self.name)
    }

    /// Returns the current path of the file, for code that writes by path. Its name ends as the name of the published file does.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Appends bytes to the file.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.with(|mut file| std::io::Write::write_all(&mut file, bytes))
    }

    /// Calls a function with the file. An error names the final path of the file, and prevents its publication.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&File) -> std::io::Result<T>) -> Result<T> {
        let outcome = act(&self.file).map_err(|error| Error::io(&self.path(), error));
        if let Err(error) = &outcome {
            self.failure.get_or_insert_with(|| error.clone());
        }
        outcome
    }

    /// Renames the file to its final name, and replaces a file of that name. When this returns, the file has reached its level of
    /// durability. If this fails, the file is not published.
    pub fn publish(mut self) -> Result<()> {
        let is_synced = self.shared.is_synced()?;
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let (part, path) = (&self.part, self.path());
        if is_synced {
            // The file is opened by its path, because code that writes by path may have put another file there.
            File::open(part).and_then(|file| file.sync_all()).map_err(|error| Error::io(&path, error))?;
        }
        part::unlock(&self.file);
        give_name_until_power_fails(part, &path).map_err(|error| Error::io(&path, error))?;
        self.is_published = true;
        if is_synced {
            self.shared.directory.sync()?;
        }
        self.shared.note_published(&self.name)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A forked child has a copy of this writer, but the file belongs to its parent.
        if !self.is_published && self.shared.is_ours() {
            // No caller is left to which an error could be reported.
            let _ = part::remove(&self.part);
        }
    }
}
