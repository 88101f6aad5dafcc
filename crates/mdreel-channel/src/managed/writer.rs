//! A file that is being written in a managed directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::Shared;
use super::part;
use mdreel_core::error::{Error, Result};
use mdreel_core::writer::final_name::give_name_until_power_fails;

/// A file under a hidden name, which gets its own in [`Writer::publish`]. One that is dropped before leaves nothing behind; what a
/// killed process leaves is removed by the next producer.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    name: OsString,
    part: PathBuf,
    file: File,
    /// What could not be written: the file will never be whole.
    failure: Option<Error>,
    is_published: bool,
}

impl Writer {
    /// Begins a file whose name was checked.
    pub(super) fn create(shared: Arc<Shared>, name: &OsStr) -> Result<Self> {
        let (part, file) = part::create(shared.directory.path(), name)?;
        Ok(Writer { shared, name: name.to_owned(), part, file, failure: None, is_published: false })
    }

    /// Its path when it is published.
    pub fn path(&self) -> PathBuf {
        self.shared.directory.path().join(&self.name)
    }

    /// Where it is until then: for who writes by a path and not through this. The name ends as that of the published file does.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Writes behind what was written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.with(|mut file| std::io::Write::write_all(&mut file, bytes))
    }

    /// Acts on the file. An error names it as it will be called, and keeps it from being published.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&File) -> std::io::Result<T>) -> Result<T> {
        let outcome = act(&self.file).map_err(|error| Error::io(&self.path(), error));
        if let Err(error) = &outcome {
            self.failure.get_or_insert_with(|| error.clone());
        }
        outcome
    }

    /// Gives the file its name, in place of a file that had it before. It has reached its level when this returns; if this fails, it
    /// is not there.
    pub fn publish(mut self) -> Result<()> {
        let is_synced = self.shared.is_synced()?;
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let (part, path) = (&self.part, self.path());
        if is_synced {
            // By its path: who writes by that may have put another file there.
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
        // A forked child has a copy of this, but the file is its parent's.
        if !self.is_published && self.shared.is_ours() {
            // Nobody is left who could be told.
            let _ = part::remove(&self.part);
        }
    }
}
