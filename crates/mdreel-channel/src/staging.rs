//! Staging: frames in files on a disk of the node, which survive all processes.
//!
//! A frame is there when its record is whole (`segment`); what follows the last whole record is a write that was cut short, or what
//! the file had before it became that of this segment, and is cut off.

pub(crate) mod place;
pub(crate) mod reader;
pub(crate) mod reserve;
mod segment;
mod segment_file;

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use super::directory::Directory;
use super::group;
use super::lock::Locks;
use super::record;
use mdreel_core::error::{Error, Result};

pub use place::Durability;

use segment::{PREFIX, Prefix, Segment, all, name};
use segment_file::SegmentFile;

const EPOCHS: &str = "epochs";
const EPOCHS_MAGIC: &[u8; 8] = b"MDREELEP";
/// So long an answer of the groups holds: they are asked for as long as one of them keeps what would otherwise go.
const LOOK: Duration = Duration::from_millis(100);
/// Where so many full segments may stay, one of them goes before it has to.
const MANY: u64 = 4;

/// How long frames are kept, in whole segments. The newest segment stays in any case, and so does what a group whose state is
/// beside the segments has not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// So many frames stay at least, if there were as many.
    pub count: Option<u64>,
    /// The bytes of all segments together, at most, while there is more than one.
    pub bytes: Option<u64>,
    /// What was last written to so long ago goes.
    pub age: Option<Duration>,
    /// A segment that has so many bytes is followed by the next.
    pub segment: u64,
}

/// What the writer knows of a segment.
#[derive(Debug)]
struct Kept {
    first: u64,
    n_frames: u64,
    n_bytes: u64,
    written: Written,
    /// Whether nothing may be appended: a write has failed, and may have left something behind the last frame.
    is_closed: bool,
    /// Whether the disk has all of it.
    is_on_disk: bool,
}

/// When a segment was written to last. A wall clock that is set to another time makes nothing older or younger: its time is read
/// once, of segments that were there before.
#[derive(Debug, Clone, Copy)]
struct Written {
    /// How old it was at a moment.
    age: Duration,
    /// That moment.
    then: Instant,
}

impl Written {
    fn at(then: Instant) -> Self {
        Written { age: Duration::ZERO, then }
    }

    fn age(&self, now: Instant) -> Duration {
        self.age.saturating_add(now.saturating_duration_since(self.then))
    }
}

/// The segments of a channel, written to by one producer.
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
    /// The bytes of the file that the next segment gets, if there is one.
    spare: Option<u64>,
    /// The least sequence number that may come next.
    next: u64,
    /// The last frame that was there when this was opened.
    last: Option<Vec<u8>>,
    /// What has gone wrong behind a frame that is there: said before the next one is written.
    trouble: Option<Error>,
    /// The first frame that a group wants, and when they were asked.
    wanted: Option<(Instant, Option<u64>)>,
    /// Whether there are groups, whose commits have room of their own.
    keeps_reserve: bool,
    /// Nobody else may write: what is being appended would look like a torn end.
    _locks: Locks,
}

impl Staging {
    /// Opens the segments in a directory of the user, which is made if it is not there. A torn end is cut off.
    pub fn open(path: &Path, level: Durability, retention: Retention) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        let directory = Directory::create(&path)?;
        let locks = Locks::open(&directory, "lock", true)?;
        if !locks.take(0)? {
            return Err(Error::stream("another producer writes to this staging").in_file(&path));
        }
        segment_file::delete_spare(&directory)?;
        let (mut segments, mut last) = (VecDeque::new(), None);
        let mut next = 0;
        for first in all(&directory)?.into_iter().rev() {
            // All of the frames are looked at up to the last one: a write that was cut short can be at the end only.
            let (kept, behind) = scan(&directory, first, &mut last)?;
            if kept.n_frames > 0 {
                segments.push_front(kept);
            } else {
                segment_file::delete(&directory, first, false)?;
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
            spare: None,
            next,
            last,
            trouble: None,
            wanted: None,
            keeps_reserve,
            _locks: locks,
        })
    }

    /// The directory, and what a frame in it survives.
    pub(crate) fn place(&self) -> (&Path, Durability) {
        (self.directory.path(), self.level)
    }

    /// Appends a frame, which has to have a higher sequence number than those before. Returns what it survives now.
    pub(crate) fn append(&mut self, sequence: u64, frame: &[u8]) -> Result<Durability> {
        if self.level == Durability::Ring {
            return Ok(Durability::Ring);
        }
        if sequence < self.next {
            let message = format!("expected frame {} or a later one, got {sequence}", self.next);
            return Err(Error::mismatch(message).in_file(self.directory.path()));
        }
        if let Some(error) = self.trouble.take() {
            return Err(error);
        }
        let Some(prefix) = Prefix::of(sequence, frame) else {
            return Err(Error::mismatch(format!("expected a frame, got {} other bytes", frame.len()))
                .in_file(self.directory.path()));
        };
        self.reserve()?;
        let (first, at, mut file) = self.segment_for(sequence, prefix.record_len())?;
        let outcome = file.write(at, prefix, frame).and_then(|()| match self.level {
            Durability::Fsync => file.sync(),
            _ => Ok(()),
        });
        let now = Instant::now();
        if let Some(last) = self.segments.back_mut() {
            if let Err(error) = outcome {
                // As of a full disk. What was written of the frame is cut off; should that fail, too, it stays behind the last
                // frame of a segment to which nothing is added any more, where it is known for what it is.
                last.is_closed = true;
                let _ = file.cut(last.n_bytes);
                self.drop_spare();
                return Err(Error::io(&self.directory.join(&name(first)), error));
            }
            last.n_frames += 1;
            last.n_bytes += prefix.record_len();
            last.written = Written::at(now);
            last.is_on_disk = self.level == Durability::Fsync;
            self.n_frames += 1;
            self.n_bytes += prefix.record_len();
        }
        self.next = sequence + 1;
        self.file = Some(file);
        if self.is_over(self.spare.unwrap_or(0)) {
            self.drop_spare();
        }
        self.trouble = self.retain(now, 0).err();
        Ok(self.level)
    }

    /// Keeps room for the commits of groups before a frame takes any.
    fn reserve(&mut self) -> Result<()> {
        let is_kept = reserve::is_kept(&self.directory);
        self.keeps_reserve |= is_kept;
        if is_kept || !self.keeps_reserve {
            return Ok(());
        }
        // It was given to a commit, after which frames may go.
        self.wanted = None;
        self.retain(Instant::now(), 0)?;
        reserve::keep(&self.directory).or_else(|_| {
            self.drop_spare();
            reserve::keep(&self.directory)
        })
    }

    /// The segment to which the frame with this sequence number is to be appended, where its last record ends, and its file.
    fn segment_for(&mut self, sequence: u64, record_len: u64) -> Result<(u64, u64, SegmentFile)> {
        if let Some(last) = self.segments.back() {
            let (first, at) = (last.first, last.n_bytes);
            if !last.is_closed && at < self.retention.segment {
                let file = self.file.take().map_or_else(|| SegmentFile::open(&self.directory, first), Ok)?;
                return Ok((first, at, file));
            }
            // A segment that has nothing but what a failed write has left may have the name of the new one.
            if last.n_frames == 0 {
                self.segments.pop_back();
                self.n_bytes -= at;
                segment_file::delete(&self.directory, first, false)?;
            } else if let Some(mut file) = self.file.take() {
                file.cut(at).map_err(|error| Error::io(&self.directory.join(&name(first)), error))?;
            }
        }
        // What would have to go before the new segment is full can be its file: a part of what may stay, where that is many segments.
        let Retention { bytes, segment, .. } = self.retention;
        let n_more = if bytes.is_some_and(|bytes| bytes / MANY >= segment) { segment } else { 0 };
        self.retain(Instant::now(), self.spare.unwrap_or(0).max(PREFIX + record_len).max(n_more))?;
        let file = SegmentFile::begin(&self.directory, sequence)?;
        self.spare = None;
        if self.level == Durability::Fsync {
            // The name of the file is in the directory, which is written on its own.
            self.directory.sync()?;
        }
        let (first, n_frames, n_bytes, written) = (sequence, 0, PREFIX, Written::at(Instant::now()));
        self.segments.push_back(Kept { first, n_frames, n_bytes, written, is_closed: false, is_on_disk: true });
        self.n_bytes += n_bytes;
        Ok((first, n_bytes, file))
    }

    /// Deletes the oldest segments, as far as retention says. So many bytes are about to be written beside those that are there.
    fn retain(&mut self, now: Instant, n_coming: u64) -> Result<()> {
        let Retention { count, age, .. } = self.retention;
        while let (Some(oldest), Some(second)) = (self.segments.front(), self.segments.get(1)) {
            let is_old = age.is_some_and(|age| oldest.written.age(now) > age);
            let is_spare = count.is_some_and(|count| self.n_frames - oldest.n_frames >= count);
            if !is_old && !is_spare && !self.is_over(n_coming) {
                break;
            }
            let behind = second.first;
            if self.wanted(now)?.is_some_and(|wanted| wanted < behind) {
                break;
            }
            if let Some(oldest) = self.segments.pop_front() {
                self.n_frames -= oldest.n_frames;
                self.n_bytes -= oldest.n_bytes;
                let is_spared = self.spare.is_none() && !self.is_over(oldest.n_bytes);
                segment_file::delete(&self.directory, oldest.first, is_spared)?;
                if is_spared {
                    self.spare = Some(oldest.n_bytes);
                }
            }
        }
        Ok(())
    }

    /// Whether the files of all segments, with so many bytes more, have more of them than may stay.
    fn is_over(&self, n_more: u64) -> bool {
        let newest = self.segments.back().map_or(0, |last| last.n_bytes);
        let behind = self.file.as_ref().map_or(0, |file| file.length().saturating_sub(newest));
        self.retention.bytes.is_some_and(|bytes| self.n_bytes + behind + n_more > bytes)
    }

    /// Gives back what the next segment would have got.
    fn drop_spare(&mut self) {
        if self.spare.take().is_some() {
            // On a full disk the frame that comes next may need the room; and one that cannot be deleted is in nobody's way.
            let _ = segment_file::delete_spare(&self.directory);
        }
    }

    /// The first frame that a group wants.
    fn wanted(&mut self, now: Instant) -> Result<Option<u64>> {
        match self.wanted {
            Some((then, wanted)) if now.saturating_duration_since(then) < LOOK => Ok(wanted),
            _ => {
                let wanted = group::first_wanted(&self.directory)?;
                self.wanted = Some((now, wanted));
                Ok(wanted)
            }
        }
    }

    /// Has the disk keep what was written. That is not done when a segment is full: a simulation would wait for the disk there.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.drop_spare();
        for kept in self.segments.iter_mut().filter(|kept| !kept.is_on_disk) {
            let name = name(kept.first);
            match self.directory.open_file(&name, OpenOptions::new().read(true)) {
                Ok(file) => file.sync_data().map_err(|error| Error::io(&self.directory.join(&name), error))?,
                Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {} // somebody has deleted it
                Err(error) => return Err(error),
            }
            kept.is_on_disk = true;
        }
        Ok(())
    }

    /// How many frames are kept.
    pub fn n_frames(&self) -> u64 {
        self.n_frames
    }

    /// The least sequence number that may be appended.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The last frame that was there when this was opened; it is handed out once.
    pub(super) fn take_last(&mut self) -> Option<Vec<u8>> {
        self.last.take()
    }

    /// From which step on each epoch of the channel goes, as was last kept.
    pub(super) fn resume_steps(&self) -> Result<Vec<i64>> {
        Ok(record::read_if_there(&self.directory, EPOCHS, EPOCHS_MAGIC)?.unwrap_or_default())
    }

    /// Keeps from which step on each epoch of the channel goes, for a ring that has to be made anew.
    pub(super) fn keep_resume_steps(&self, steps: &[i64]) -> Result<()> {
        record::write(&self.directory, EPOCHS, EPOCHS_MAGIC, &steps, self.level == Durability::Fsync)
    }
}

/// Looks at a segment, and cuts a torn end off. Returns what the next frame behind it may be called. The frames themselves are read
/// while the last one is not known.
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
    // One that seems to come from the future is new.
    let written = Written { age: modified.elapsed().unwrap_or_default(), then: Instant::now() };
    // Whether the disk has what another process has written is not known.
    Ok((Kept { first, n_frames, n_bytes, written, is_closed: false, is_on_disk: false }, segment.next))
}

/// Calls `each` with every frame that is kept, oldest first, until it returns an error.
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
