//! The file of the segment that is written to, and the one that is kept for the next segment.
//!
//! Giving a file its pages and blocks costs as much as copying a frame, or more. A file whose frames were
//! deleted by retention already has both, so the next segment reuses the file. The producer first removes the name of the file. A
//! reader that has the file open can therefore detect that the frames it has read belong to another segment (`segment`).

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::super::directory::Directory;
use super::super::mapping::Mapping;
use super::segment::{Block, PREFIX, Prefix, header, name};
use mdreel_core::error::{Error, Result};
use mdreel_core::writer::final_name::give_name_until_power_fails;

/// The file of no segment.
const SPARE: &str = "spare";

/// The file of the segment that is written to.
#[derive(Debug)]
pub(super) struct SegmentFile {
    first: u64,
    file: File,
    inode: u64,
    /// Number of bytes of the file. An older segment may have left some after the last record.
    length: u64,
}

impl SegmentFile {
    /// Begins a segment, in the spare file if there is one. Its name appears when its header is there.
    pub(super) fn begin(directory: &Directory, first: u64) -> Result<Self> {
        let (spare, path) = (directory.join(SPARE), directory.join(&name(first)));
        let refused = |error: std::io::Error| Error::io(&path, error);
        let mut options = OpenOptions::new();
        let file = match directory.open_file(SPARE, options.read(true).write(true)) {
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                directory.open_file(SPARE, options.create_new(true))?
            }
            outcome => outcome?,
        };
        // The zeros are where the first prefix comes.
        file.write_all_at([header(first), [0; PREFIX as usize]].as_flattened(), 0).map_err(refused)?;
        if path.symlink_metadata().is_ok() {
            return Err(refused(ErrorKind::AlreadyExists.into()));
        }
        give_name_until_power_fails(&spare, &path).map_err(refused)?;
        Self::of(&path, first, file)
    }

    /// Opens the file of an existing segment to append to it.
    pub(super) fn open(directory: &Directory, first: u64) -> Result<Self> {
        let file = directory.open_file(&name(first), OpenOptions::new().write(true))?;
        Self::of(&directory.join(&name(first)), first, file)
    }

    fn of(path: &Path, first: u64, file: File) -> Result<Self> {
        let facts = file.metadata().map_err(|error| Error::io(path, error))?;
        Ok(SegmentFile { first, file, inode: facts.ino(), length: facts.len() })
    }

    /// Maps the file as it is now.
    pub(super) fn map(&self, path: &Path) -> Result<Mapping> {
        Mapping::new(path, &self.file, self.length as usize, true)
    }

    /// The inode of the file.
    pub(super) fn inode(&self) -> u64 {
        self.inode
    }

    /// The bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a record to the last one, which ends at `at`. A process that is killed meanwhile leaves no record there.
    pub(super) fn write(&mut self, at: u64, prefix: Prefix, frame: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(frame, at + PREFIX)?;
        self.finish(at, prefix)
    }

    /// Completes the record at `at`, whose frame is there.
    pub(super) fn finish(&mut self, at: u64, prefix: Prefix) -> std::io::Result<()> {
        let end = at + prefix.record_len();
        if end < self.length {
            let rest = (self.length - end).min(PREFIX) as usize;
            let zeros: Block = [0; PREFIX as usize];
            self.file.write_all_at(&zeros[..rest], end)?;
        }
        self.file.write_all_at(&prefix.to_bytes(self.first), at)?;
        self.length = self.length.max(end);
        Ok(())
    }

    /// Truncates the file after the last record, which ends at `end`.
    pub(super) fn cut(&mut self, end: u64) -> std::io::Result<()> {
        if self.length == end {
            return Ok(());
        }
        self.file.set_len(end)?;
        self.length = end;
        Ok(())
    }

    /// Has the disk keep what was written.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.file = file;
    }
}

/// Deletes a segment. If `is_spared`, its file is kept for the next one, unless somebody has given it a second name, which would show
/// the frames of the next segment. Returns whether the file was kept.
pub(super) fn delete(directory: &Directory, first: u64, is_spared: bool) -> Result<bool> {
    let path = directory.join(&name(first));
    let is_alone = || path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.nlink() == 1);
    let is_spared = is_spared && is_alone();
    let outcome = match is_spared {
        true => give_name_until_power_fails(&path, &directory.join(SPARE)),
        false => std::fs::remove_file(&path),
    };
    match outcome {
        // Somebody else has deleted it.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        outcome => outcome.map(|()| is_spared).map_err(|error| Error::io(&path, error)),
    }
}

/// Deletes the spare file, if there is one.
pub(super) fn delete_spare(directory: &Directory) -> Result<()> {
    let path = directory.join(SPARE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path, error)),
        _ => Ok(()),
    }
}
