//! The file of the segment to which the producer writes.
//!
//! Allocating the pages and blocks of a file costs as much as copying a frame, or more. A file whose frames retention has deleted
//! has both, so the next segment reuses it. The producer renames the file first. A reader that has the file open can therefore
//! detect that the frames it has read belong to another segment (see `segment`).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{pwritev, retry_on_intr};

use super::super::directory::Directory;
use super::super::layout::Section;
use super::super::mapping::Mapping;
use super::segment::{Block, PREFIX, Prefix, header, name};
use mdreel_core::error::{Error, Result};
use mdreel_core::writer::final_name::give_name_until_power_fails;

/// The length of a large page.
const LARGE_PAGE: usize = 2 << 20;

/// The file of the segment to which the producer writes.
#[derive(Debug)]
pub(super) struct SegmentFile {
    first: u64,
    file: File,
    inode: u64,
    /// The number of bytes in the file. Data of an older segment may follow the last record.
    length: u64,
}

impl SegmentFile {
    /// Begins a segment in a new file.
    pub(super) fn create(directory: &Directory, first: u64) -> Result<Self> {
        let name = name(first);
        let file = directory.open_file(&name, OpenOptions::new().read(true).write(true).create_new(true))?;
        Self::of(&directory.join(&name), first, file)
    }

    /// Creates a file without a name, with blocks and pages for this number of bytes. The kernel deletes it with its last descriptor,
    /// so that a process that dies leaves none behind. Returns an error soon after `is_stopped` has become true.
    pub(super) fn unnamed(directory: &Directory, length: u64, is_stopped: &AtomicBool) -> Result<Self> {
        let path = directory.path();
        let refused = |error: std::io::Error| Error::io(path, error);
        let file = directory.open_unnamed_file()?;
        fallocate(&file, FallocateFlags::empty(), 0, length).map_err(|error| refused(error.into()))?;
        // For writes of this length, the kernel takes large pages. It would take small ones if a mapping were touched.
        let zeros = vec![0; LARGE_PAGE.min(length as usize)];
        for at in (0..length).step_by(zeros.len().max(1)) {
            let n_left = zeros.len().min((length - at) as usize);
            if is_stopped.load(Ordering::Relaxed) {
                return Err(refused(ErrorKind::Interrupted.into()));
            }
            file.write_all_at(&zeros[..n_left], at).map_err(refused)?;
        }
        Self::of(path, 0, file)
    }

    /// Begins a segment in a file that has no name yet.
    pub(super) fn begin(mut self, directory: &Directory, first: u64) -> Result<Self> {
        directory.give_first_name(&self.file, &name(first))?;
        self.first = first;
        Ok(self)
    }

    /// Begins a segment in the file of an old one. If the old file has been deleted, or has a second name under which the frames of
    /// the new segment would appear, the segment begins in a new file.
    pub(super) fn reuse(directory: &Directory, old: u64, first: u64) -> Result<Self> {
        let (old, new) = (directory.join(&name(old)), directory.join(&name(first)));
        let refused = |error: std::io::Error| Error::io(&new, error);
        if new.symlink_metadata().is_ok() {
            return Err(refused(ErrorKind::AlreadyExists.into()));
        }
        // The file is renamed before its first byte is written, so that readers know that the frames they find belong to another
        // segment.
        match give_name_until_power_fails(&old, &new) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::create(directory, first),
            outcome => outcome.map_err(refused)?,
        }
        let begun = Self::open_renamed(directory, first);
        if begun.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        match begun? {
            Some(begun) => Ok(begun),
            None => Self::create(directory, first),
        }
    }

    /// Begins a segment in a file that has got its name. Returns `None` and deletes the name if the file has another one.
    fn open_renamed(directory: &Directory, first: u64) -> Result<Option<Self>> {
        let path = directory.join(&name(first));
        let refused = |error: std::io::Error| Error::io(&path, error);
        let file = directory.open_file(&name(first), OpenOptions::new().read(true).write(true))?;
        let facts = file.metadata().map_err(refused)?;
        if facts.nlink() > 1 {
            std::fs::remove_file(&path).map_err(refused)?;
            return Ok(None);
        }
        Ok(Some(SegmentFile { first, file, inode: facts.ino(), length: facts.len() }))
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

    /// Maps the file with its current length.
    pub(super) fn map(&self, path: &Path) -> Result<Mapping> {
        Mapping::new(path, &self.file, self.length as usize, true)
    }

    pub(super) fn inode(&self) -> u64 {
        self.inode
    }

    /// Returns the length of the file in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a record after the last one, which ends at `at`. If the process is killed meanwhile, it leaves no record there.
    pub(super) fn write(&mut self, at: u64, prefix: Prefix, frame: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(frame, at + PREFIX)?;
        self.finish(at, prefix)
    }

    /// Appends a record as `write` does. The frame consists of its header and its sections.
    pub(super) fn write_parts(
        &mut self,
        at: u64,
        prefix: Prefix,
        head: &[u8],
        sections: &[Section<'_>],
    ) -> std::io::Result<()> {
        let zeros: Block = [0; PREFIX as usize];
        let mut pieces = vec![IoSlice::new(head)];
        for section in sections {
            let n_zeros = section.bytes.len().next_multiple_of(zeros.len()) - section.bytes.len();
            pieces.extend([IoSlice::new(section.bytes), IoSlice::new(&zeros[..n_zeros])]);
        }
        // A page that two pieces share is written once.
        let n_written = retry_on_intr(|| pwritev(&self.file, &pieces, at + PREFIX))?;
        let (mut to, mut n_there) = (at + PREFIX, n_written);
        for piece in pieces {
            // The call may have written a part, for example because the disk is full.
            let rest = &piece[n_there.min(piece.len())..];
            n_there = n_there.saturating_sub(piece.len());
            to += piece.len() as u64;
            self.file.write_all_at(rest, to - rest.len() as u64)?;
        }
        self.finish(at, prefix)
    }

    /// Completes the record at `at`, whose frame has been written.
    pub(super) fn finish(&mut self, at: u64, prefix: Prefix) -> std::io::Result<()> {
        let end = at + prefix.record_len();
        if end < self.length {
            let rest = (self.length - end).min(PREFIX) as usize;
            let zeros: Block = [0; PREFIX as usize];
            self.file.write_all_at(&zeros[..rest], end)?;
        }
        let blocks = [header(self.first), prefix.to_bytes(self.first)];
        // The header of the segment lies before the first prefix, and one call writes both.
        let (blocks, at) = if at == PREFIX { (&blocks[..], 0) } else { (&blocks[1..], at) };
        self.file.write_all_at(blocks.as_flattened(), at)?;
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

    /// Syncs the data of the file to the disk.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.file = file;
    }
}

/// Deletes a segment. Does nothing if another program has deleted it before.
pub(super) fn delete(directory: &Directory, first: u64) -> Result<()> {
    let path = directory.join(&name(first));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path, error)),
        _ => Ok(()),
    }
}
