//! Files that threads create and map before segments need them.
//!
//! The kernel has to allocate and clear the pages and the blocks of a new file. For a large frame, this takes as long as copying the
//! frame, or longer. A file that a thread has prepared can get its first frame in place, as a file that is reused. The files have no
//! names until segments begin in them.

use std::collections::VecDeque;
use std::thread::{Builder, JoinHandle};

use rustix::fs::statvfs;

use super::Staging;
use super::kept::Retention;
use super::mapped_file::{MOST_MAPPED, MappedFile};
use super::segment::PREFIX;
use super::segment_file::SegmentFile;
use crate::directory::Directory;
use crate::ring_file::Geometry;
use mdreel_core::error::Result;

/// Lowest number of bytes in a slot of the ring for which files are prepared. The pages of a shorter frame cost little.
const LEAST_SLOT: u64 = 128 << 10;
/// Highest number of bytes in a file that is prepared.
const MOST_BYTES: u64 = 256 << 20;
/// Number of bytes that a thread prepares in several files if they are shorter, and the highest number of these files.
const BATCH_BYTES: u64 = 64 << 20;
const MOST_FILES: u64 = 16;
/// The files take at most one part in this number of the space that is left on the disk.
const SHARE_OF_SPACE: u64 = 8;

/// A file without a name, whose pages are in memory.
#[derive(Debug)]
pub(super) struct PreparedFile {
    pub file: SegmentFile,
    pub mapped: MappedFile,
}

/// The files that have been prepared, and those that a thread is preparing.
#[derive(Debug)]
pub(super) struct PreparedFiles {
    /// Number of bytes in each file.
    length: u64,
    /// Number of files that a thread prepares.
    n_files: u64,
    ready: VecDeque<PreparedFile>,
    under_way: Option<JoinHandle<Vec<PreparedFile>>>,
    /// The process that has the thread. Forked children have no copy of it.
    process: u32,
}

impl Drop for PreparedFiles {
    fn drop(&mut self) {
        if let Some(thread) = self.under_way.take().filter(|_| self.process == std::process::id()) {
            // A file system with open files cannot be unmounted.
            let _ = thread.join();
        }
    }
}

impl PreparedFiles {
    /// Describes files for segments of this length, or returns `None` if the frames of this ring are short.
    pub(super) fn of(segment: u64, ring: Geometry) -> Option<Self> {
        let longest = PREFIX.checked_add(ring.slot_len)?;
        let n_frames = segment.saturating_sub(PREFIX).div_ceil(longest).max(1);
        let length = PREFIX.checked_add(n_frames.checked_mul(longest)?)?;
        let n_files = (BATCH_BYTES / length).clamp(1, MOST_FILES);
        let (ready, under_way, process) = (VecDeque::new(), None, std::process::id());
        let is_suitable = ring.slot_len >= LEAST_SLOT && length <= MOST_BYTES;
        is_suitable.then(|| PreparedFiles { length, n_files, ready, under_way, process })
    }

    /// Returns the number of bytes in all files.
    fn n_bytes(&self) -> u64 {
        let n_under_way = if self.under_way.is_some() { self.n_files } else { 0 };
        (self.ready.len() as u64 + n_under_way) * self.length
    }

    /// Returns whether a thread should prepare more files now.
    fn are_few(&self) -> bool {
        self.under_way.is_none() && (self.ready.len() as u64) < self.n_files
    }

    /// Lets a thread prepare more files. Returns whether it has started.
    fn start(&mut self, directory: &Directory) -> bool {
        let (directory, length, n_files) = (directory.clone(), self.length, self.n_files);
        let prepare_all = move || (0..n_files).map_while(|_| prepare(&directory, length).ok()).collect();
        self.under_way = Builder::new().name("mdreel-files".into()).spawn(prepare_all).ok();
        self.under_way.is_some()
    }

    /// Returns the next file, if there is one.
    fn take(&mut self) -> Option<PreparedFile> {
        if let Some(thread) = self.under_way.take_if(|thread| thread.is_finished()) {
            self.ready.extend(thread.join().unwrap_or_default());
        }
        self.ready.pop_front()
    }
}

fn prepare(directory: &Directory, length: u64) -> Result<PreparedFile> {
    let file = SegmentFile::unnamed(directory, length)?;
    let memory = file.map(directory.path())?;
    memory.populate();
    Ok(PreparedFile { mapped: MappedFile { inode: file.inode(), memory }, file })
}

impl Staging {
    /// Returns a segment in a prepared file, or `None` if there is no such file.
    pub(super) fn begin_prepared(&mut self, first: u64) -> Option<(SegmentFile, Option<MappedFile>)> {
        let prepared = self.prepared.as_mut()?.take();
        self.prepare_more();
        let PreparedFile { file, mapped } = prepared?;
        let begun = file.begin(&self.directory, first).ok();
        if begun.is_none() {
            self.prepared = None;
        }
        self.n_mapped += mapped.memory.len() as u64;
        Some((begun?, Some(mapped)))
    }

    /// Lets a thread prepare more files if they will be needed and there is room for them.
    pub(super) fn prepare_more(&mut self) {
        let Retention { count, bytes, .. } = self.retention;
        let Some(prepared) = self.prepared.as_mut().filter(|prepared| prepared.are_few()) else { return };
        let n_coming = prepared.n_bytes() + prepared.n_files * prepared.length;
        let n_kept = count.map(|count| count.max(self.in_place.unwrap_or(0)));
        let is_enough = n_kept.is_some_and(|n_kept| self.n_frames >= n_kept);
        let is_too_much = bytes.is_some_and(|bytes| self.n_bytes + n_coming + prepared.length > bytes);
        let has_room = || {
            let facts = statvfs(self.directory.path());
            facts.is_ok_and(|facts| n_coming <= facts.f_bavail.saturating_mul(facts.f_frsize) / SHARE_OF_SPACE)
        };
        let is_mapped = self.n_mapped + n_coming <= MOST_MAPPED;
        if is_enough || is_too_much || !is_mapped || !has_room() {
            return;
        }
        if !prepared.start(&self.directory) {
            self.prepared = None;
        }
    }
}
