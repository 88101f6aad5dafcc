//! Files that threads create and map before segments need them.
//!
//! The kernel has to allocate and clear the pages and the blocks of a new file. For a large frame, this takes as long as copying the
//! frame, or longer. A file that a thread has prepared can get its first frame in place, as a file that is reused. The files have no
//! names until segments begin in them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use rustix::fs::statvfs;

use super::mapped_file::MappedFile;
use super::segment::PREFIX;
use super::segment_file::SegmentFile;
use crate::directory::Directory;
use crate::ring_file::Geometry;
use mdreel_core::error::Result;

/// Lowest number of bytes in a slot of the ring for which files are prepared. The pages of a shorter frame cost little.
const LEAST_SLOT: u64 = 128 << 10;
/// Highest number of bytes in a file that is prepared, and in all files that are prepared when the channel is opened.
const MOST_BYTES: u64 = 256 << 20;
/// Highest number of files that are prepared when the channel is opened. Each needs a descriptor.
const MOST_AT_FIRST: u64 = 32;
/// Number of bytes that a thread prepares in several files if they are shorter, and the highest number of these files.
const BATCH_BYTES: u64 = 64 << 20;
const MOST_FILES: u64 = 16;
/// Number of segments in addition to those with the frames that are retained: the newest, and one whose file is reused next.
pub(super) const N_MORE: u64 = 2;
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
    /// Number of frames in each file.
    n_frames: u64,
    /// Number of files that a thread prepares, or 0 if no more are needed.
    n_files: u64,
    ready: VecDeque<PreparedFile>,
    under_way: Option<JoinHandle<Vec<PreparedFile>>>,
    /// Whether the thread should end as soon as possible.
    is_stopped: Arc<AtomicBool>,
    /// The process that has the thread. Forked children have no copy of it.
    process: u32,
}

impl Drop for PreparedFiles {
    fn drop(&mut self) {
        let Some(thread) = self.under_way.take() else { return };
        if self.process == std::process::id() {
            // A file system with open files cannot be unmounted.
            self.is_stopped.store(true, Ordering::Relaxed);
            let _ = thread.join();
        } else {
            std::mem::forget(thread);
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
        let (ready, under_way, is_stopped, process) = (VecDeque::new(), None, Arc::default(), std::process::id());
        let is_suitable = ring.slot_len >= LEAST_SLOT && length <= MOST_BYTES;
        is_suitable.then(|| PreparedFiles { length, n_frames, n_files, ready, under_way, is_stopped, process })
    }

    /// Returns the number of bytes in each file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Prepares all files that retention of this number of frames needs until it frees files, if they have at most `limit` bytes.
    /// The caller waits, as it does for the ring. Otherwise, threads would compete with the first frames.
    pub(super) fn prepare_all(&mut self, directory: &Directory, n_frames: u64, limit: u64) {
        let n_files = n_frames.div_ceil(self.n_frames).saturating_add(N_MORE);
        let n_bytes = n_files.saturating_mul(self.length);
        if n_files <= MOST_AT_FIRST && n_bytes <= limit.min(MOST_BYTES) && has_room(directory, n_bytes) {
            self.ready.extend((0..n_files).map_while(|_| prepare(directory, self.length, &self.is_stopped).ok()));
            self.n_files = 0;
        }
    }

    /// Returns the number of bytes in all files after a thread has prepared more, or `None` if no more are needed at the moment.
    pub(super) fn n_coming(&self) -> Option<u64> {
        let n_ready = self.ready.len() as u64;
        (self.under_way.is_none() && n_ready < self.n_files).then(|| (n_ready + self.n_files) * self.length)
    }

    /// Lets a thread prepare more files, if the disk has room for them. Returns false if no thread can be started.
    pub(super) fn start(&mut self, directory: &Directory) -> bool {
        let (directory, length, n_files) = (directory.clone(), self.length, self.n_files);
        if !has_room(&directory, n_files * length) {
            return true;
        }
        let is_stopped = Arc::clone(&self.is_stopped);
        let prepare_all = move || (0..n_files).map_while(|_| prepare(&directory, length, &is_stopped).ok()).collect();
        self.under_way = Builder::new().name("mdreel-files".into()).spawn(prepare_all).ok();
        self.under_way.is_some()
    }

    /// Returns the next file, if there is one.
    pub(super) fn take(&mut self) -> Option<PreparedFile> {
        if let Some(thread) = self.under_way.take_if(|thread| thread.is_finished()) {
            let files = thread.join().unwrap_or_default();
            if files.is_empty() {
                self.n_files = 0; // the next thread would fail as well
            }
            self.ready.extend(files);
        }
        self.ready.pop_front()
    }
}

/// Returns whether the disk has room for this number of bytes, and much more.
fn has_room(directory: &Directory, n_bytes: u64) -> bool {
    let facts = statvfs(directory.path());
    facts.is_ok_and(|facts| n_bytes <= facts.f_bavail.saturating_mul(facts.f_frsize) / SHARE_OF_SPACE)
}

fn prepare(directory: &Directory, length: u64, is_stopped: &AtomicBool) -> Result<PreparedFile> {
    let file = SegmentFile::unnamed(directory, length, is_stopped)?;
    let memory = file.map(directory.path())?;
    memory.populate();
    Ok(PreparedFile { mapped: MappedFile::new(file.inode(), memory), file })
}
