//! Staging: frames in files on a disk of the node. The frames survive the death of all processes.
//!
//! A frame exists if its record is complete (see `segment`). The bytes after the last complete record belong to an interrupted
//! write, or to an older segment whose file was reused. `Staging::open` truncates them.

mod in_place;
mod kept;
mod mapped_file;
pub(crate) mod place;
mod prepared;
pub(crate) mod reader;
pub(crate) mod reserve;
mod retention;
pub(crate) mod segment;
mod segment_file;

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Instant, SystemTime};

use super::directory::Directory;
use super::group;
use super::lock::Locks;
use super::record;
use mdreel_core::error::{Error, Result};

pub use kept::Retention;
pub use place::Durability;

use kept::{Kept, Written};
use prepared::PreparedFiles;
use segment::{PREFIX, Prefix, Segment, all, name};
use segment_file::SegmentFile;

const EPOCHS: &str = "epochs";
const EPOCHS_MAGIC: &[u8; 8] = b"MDREELEP";

/// The segments of a channel, to which one producer writes.
#[derive(Debug)]
pub struct Staging {
    directory: Directory,
    level: Durability,
    retention: Retention,
    segments: VecDeque<Kept>,
    n_frames: u64,
    n_bytes: u64,
    /// The file of the newest segment.
    file: Option<SegmentFile>,
    /// Number of slots of the ring if frames may be written in place.
    in_place: Option<u64>,
    /// Files for the next segments, unless files are reused.
    prepared: Option<PreparedFiles>,
    /// Number of bytes that are mapped.
    n_mapped: u64,
    /// Number of mapped files that have been deleted.
    n_deleted: u64,
    /// The lowest sequence number that the next frame may have.
    next: u64,
    /// The last frame that existed when the staging was opened.
    last: Option<Vec<u8>>,
    /// An error that occurred after a frame was written. It is returned before the next frame is written.
    trouble: Option<Error>,
    /// The time when the groups were last asked, and the first frame that one of them wants.
    wanted: Option<(Instant, Option<u64>)>,
    /// Whether there are groups, for whose commits space on the disk is reserved.
    keeps_reserve: bool,
    /// The lock that keeps other writers away. They would take a record that is being appended for an interrupted write.
    _locks: Locks,
}

impl Staging {
    /// Opens the segments in a directory of the user, and creates the directory if it does not exist. Each segment is truncated
    /// after its last complete record.
    pub fn open(path: &Path, level: Durability, retention: Retention) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        let directory = Directory::create(&path)?;
        let locks = Locks::open(&directory, "lock", true)?;
        if !locks.take(0)? {
            return Err(Error::stream("another producer writes to this staging").in_file(&path));
        }
        let (mut segments, mut last) = (VecDeque::new(), None);
        let mut next = 0;
        for first in all(&directory)?.into_iter().rev() {
            // An interrupted write can only be at the end. Frames are therefore verified only until the last complete one is found;
            // of the older segments, only the prefixes are read.
            let (kept, behind) = scan(&directory, first, &mut last)?;
            if kept.n_frames > 0 {
                segments.push_front(kept);
            } else {
                segment_file::delete(&directory, first)?;
            }
            next = next.max(behind);
        }
        let keeps_reserve = !group::file::groups(&directory)?.is_empty();
        let sum = |of: fn(&Kept) -> u64| segments.iter().map(of).sum();
        let (n_frames, n_bytes) = (sum(|kept| kept.n_frames), sum(|kept| kept.n_bytes));
        Ok(Staging {
            directory,
            level,
            retention,
            segments,
            n_frames,
            n_bytes,
            file: None,
            in_place: None,
            prepared: None,
            n_mapped: 0,
            n_deleted: 0,
            next,
            last,
            trouble: None,
            wanted: None,
            keeps_reserve,
            _locks: locks,
        })
    }

    /// Returns the directory, and the durability of the frames in it.
    pub(crate) fn place(&self) -> (&Path, Durability) {
        (self.directory.path(), self.level)
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Appends a frame, whose sequence number must be higher than those before. Returns the durability that the frame has reached.
    pub(crate) fn append(&mut self, sequence: u64, frame: &[u8]) -> Result<Durability> {
        if self.level == Durability::Ring {
            return Ok(Durability::Ring);
        }
        let Some(prefix) = Prefix::of(sequence, frame) else {
            return Err(Error::mismatch(format!("expected a frame, got {} other bytes", frame.len()))
                .in_file(self.directory.path()));
        };
        let (at, mut file) = self.prepare(sequence, prefix.record_len())?;
        let outcome = file.write(at, prefix, frame).and_then(|()| match self.level {
            Durability::Fsync => file.sync(),
            _ => Ok(()),
        });
        self.finish(prefix, file, outcome)
    }

    /// Prepares to append a record of this length. Returns the end of the newest segment, and its file.
    fn prepare(&mut self, sequence: u64, record_len: u64) -> Result<(u64, SegmentFile)> {
        if sequence < self.next {
            let message = format!("expected frame {} or a later one, got {sequence}", self.next);
            return Err(Error::mismatch(message).in_file(self.directory.path()));
        }
        if let Some(error) = self.trouble.take() {
            return Err(error);
        }
        self.reserve()?;
        self.open_segment(sequence, record_len)
    }

    /// Records the outcome of appending a record to the newest segment.
    fn finish(&mut self, prefix: Prefix, mut file: SegmentFile, outcome: std::io::Result<()>) -> Result<Durability> {
        let now = Instant::now();
        if let Some(last) = self.segments.back_mut() {
            if let Err(error) = outcome {
                // The disk may be full. The file is truncated after the last complete record. If that fails as well, the rest of
                // the new record stays there. Nothing is appended to this segment any more.
                last.is_closed = true;
                let _ = file.cut(last.n_bytes);
                let path = self.directory.join(&name(last.first));
                // The next frame may need the space.
                let _ = self.retain(now, true);
                return Err(Error::io(&path, error));
            }
            last.n_frames += 1;
            last.n_bytes += prefix.record_len();
            last.written = Written::at(now);
            last.is_on_disk = self.level == Durability::Fsync;
            self.n_frames += 1;
            self.n_bytes += prefix.record_len();
        }
        self.next = prefix.sequence + 1;
        self.file = Some(file);
        self.trouble = self.retain(now, false).err();
        Ok(self.level)
    }

    /// Makes sure that space is reserved for the commits of groups before a frame takes any.
    fn reserve(&mut self) -> Result<()> {
        let is_kept = reserve::is_kept(&self.directory);
        self.keeps_reserve |= is_kept;
        if is_kept || !self.keeps_reserve {
            return Ok(());
        }
        // A commit has used the reserved space. After the commit, retention may delete frames.
        self.wanted = None;
        self.retain(Instant::now(), true)?;
        reserve::keep(&self.directory)
    }

    /// Opens the newest segment, or begins a new one if the newest is full or closed. Returns the end of the segment, and its file.
    fn open_segment(&mut self, sequence: u64, record_len: u64) -> Result<(u64, SegmentFile)> {
        let n_coming = self.n_coming(record_len);
        if let Some(last) = self.segments.back() {
            let (first, at) = (last.first, last.n_bytes);
            if !last.is_closed && at < self.retention.segment {
                let file = self.file.take().map_or_else(|| SegmentFile::open(&self.directory, first), Ok)?;
                return Ok((at, file));
            }
            // A segment that contains only the rest of a failed write may have the name of the new one.
            if last.n_frames == 0 {
                let mapped = self.segments.pop_back().and_then(|last| last.mapped);
                self.n_bytes -= at;
                self.unmap(mapped);
                segment_file::delete(&self.directory, first)?;
            } else {
                self.unmap_newest();
                if let Some(mut file) = self.file.take() {
                    file.cut(at).map_err(|error| Error::io(&self.directory.join(&name(first)), error))?;
                }
            }
        }
        let (file, mapped) = match self.make_room(Instant::now(), n_coming)? {
            Some(old) => {
                self.prepared = None;
                self.reuse(old, sequence)?
            }
            None => match self.begin_prepared(sequence) {
                Some(begun) => begun,
                None => (SegmentFile::create(&self.directory, sequence)?, None),
            },
        };
        if self.level == Durability::Fsync {
            // The name of the file is stored in the directory, which is synced separately.
            self.directory.sync()?;
        }
        self.segments.push_back(Kept::begun(sequence, mapped));
        self.n_bytes += PREFIX;
        Ok((PREFIX, file))
    }

    /// Deletes what retention does not keep, truncates the newest segment after its last record, and syncs all segments to the disk.
    /// This is not done when a segment is full, because the simulation would have to wait for the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.retain(Instant::now(), true)?;
        if let (Some(last), Some(file)) = (self.segments.back(), &mut self.file) {
            let _ = file.cut(last.n_bytes);
        }
        for kept in self.segments.iter_mut().filter(|kept| !kept.is_on_disk) {
            let name = name(kept.first);
            match self.directory.open_file(&name, OpenOptions::new().read(true)) {
                Ok(file) => file.sync_data().map_err(|error| Error::io(&self.directory.join(&name), error))?,
                Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {} // another program has deleted it
                Err(error) => return Err(error),
            }
            kept.is_on_disk = true;
        }
        Ok(())
    }

    /// Returns the number of frames in the staging.
    pub fn n_frames(&self) -> u64 {
        self.n_frames
    }

    /// Returns the lowest sequence number that may be appended.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Takes the last frame that existed when the staging was opened. Later calls return `None`.
    pub(super) fn take_last(&mut self) -> Option<Vec<u8>> {
        self.last.take()
    }

    /// Returns the resume step of each epoch of the channel, as last stored.
    pub(super) fn resume_steps(&self) -> Result<Vec<i64>> {
        Ok(record::read_if_there(&self.directory, EPOCHS, EPOCHS_MAGIC)?.unwrap_or_default())
    }

    /// Stores the resume step of each epoch of the channel, in case the ring has to be created again.
    pub(super) fn keep_resume_steps(&self, steps: &[i64]) -> Result<()> {
        record::write(&self.directory, EPOCHS, EPOCHS_MAGIC, &steps, self.level == Durability::Fsync)
    }
}

/// Scans a segment, and truncates it after its last complete record. Returns the lowest sequence number that may follow. If `last`
/// is `None`, the frames themselves are read, and the last one is stored there.
fn scan(directory: &Directory, first: u64, last: &mut Option<Vec<u8>>) -> Result<(Kept, u64)> {
    let path = directory.join(&name(first));
    let is_last = last.is_none();
    let Some(mut segment) = Segment::open(directory, first)? else {
        return Err(Error::stream("deleted by somebody else").in_file(&path));
    };
    let (mut n_frames, mut frame, mut before) = (0, Vec::new(), Vec::new());
    while (if is_last { segment.read(&mut frame) } else { segment.pass() })?.is_some() {
        n_frames += 1;
        std::mem::swap(&mut frame, &mut before);
    }
    if is_last && n_frames > 0 {
        *last = Some(before);
    }
    let file = directory.open_file(&name(first), OpenOptions::new().write(true))?;
    let facts = file.metadata().map_err(|error| Error::io(&path, error))?;
    let n_bytes = segment.at;
    if facts.len() > n_bytes {
        file.set_len(n_bytes).map_err(|error| Error::io(&path, error))?;
    }
    let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    // A segment whose modification time lies in the future counts as new.
    let written = Written { age: modified.elapsed().unwrap_or_default(), then: Instant::now() };
    // It is unknown whether the disk has the data that another process has written.
    // Consumers may still have mapped the file, whose frames they hold from the time of an earlier producer.
    let (is_closed, is_on_disk, is_read) = (false, false, true);
    let kept = Kept { first, n_frames, n_bytes, written, is_closed, is_on_disk, mapped: None, n_slots: 0, is_read };
    Ok((kept, segment.next))
}

/// Calls `each` with every staged frame, oldest first, until it returns an error.
pub fn replay(path: &Path, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let directory = Directory::open(path)?;
    let mut frame = Vec::new();
    for first in all(&directory)? {
        let Some(mut segment) = Segment::open(&directory, first)? else { continue };
        while segment.read(&mut frame)?.is_some() {
            each(&frame)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
