//! Segments, which are the files of a staging, and the records in them.
//!
//! The name of a segment contains the sequence number of its first frame. The numbers increase from record to record and from
//! segment to segment. All numbers are little-endian. A segment begins with 64 bytes:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | 8 bytes | `MDREELSG` |
//! | 8 | u64 | version: 2 |
//! | 16 | u64 | sequence number of the first frame |
//! | 24 | u64 | checksum of the bytes before it |
//! | 32 | 32 bytes | zeros |
//!
//! Records follow. Each record begins at a multiple of 64 bytes. It consists of a prefix of 64 bytes and the bytes of the frame:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | length of the frame, a multiple of 64 |
//! | 8 | u64 | sequence number of the frame |
//! | 16 | u64 | the checksum in the header of the frame |
//! | 24 | u64 | checksum of the bytes before it, with the number of the segment's first frame as the seed |
//! | 32 | 32 bytes | zeros |
//!
//! The producer writes the prefix of a record last, when the frame and the end of the records are in place, and the header of the
//! segment with its first prefix. A file may have been reused, and then contains the rest of an older segment after the last record.
//! 64 zero bytes separate this rest from the record, and the prefixes in it were computed with another seed.
//!
//! A frame has its own checksums of its header and of each section. The record adds no checksum of the frame, but its prefix
//! repeats the checksum of the header.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

use twox_hash::XxHash3_64;

use super::super::directory::Directory;
use super::super::layout::{ALIGNMENT, FrameView};
use mdreel_core::error::{Error, Result};

const MAGIC: u64 = u64::from_le_bytes(*b"MDREELSG");
const VERSION: u64 = 2;
/// The number of bytes in a segment before its first record, and in a record before its frame.
pub(super) const PREFIX: u64 = ALIGNMENT as u64;

/// Number of times that a reader looks at a header that is not valid, and the time between two looks.
const N_LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(1);

/// The bytes before a frame, or at the beginning of a segment.
pub(super) type Block = [u8; PREFIX as usize];

/// Returns three numbers and their checksum as bytes.
fn block(words: [u64; 3], seed: u64) -> Block {
    let mut bytes = [0; PREFIX as usize];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    let sum = XxHash3_64::oneshot_with_seed(seed, &bytes[..24]);
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Returns the numbers in these bytes if their checksum is correct.
fn words(bytes: &Block, seed: u64) -> Option<[u64; 3]> {
    let mut each = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let words = [each.next()?, each.next()?, each.next()?];
    (block(words, seed) == *bytes).then_some(words)
}

/// Returns the header of the segment that begins with this frame.
pub(super) fn header(first: u64) -> Block {
    block([MAGIC, VERSION, first], 0)
}

/// The prefix of a record, which precedes the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    length: u64,
    pub(super) sequence: u64,
    /// The checksum in the header of the frame.
    checksum: u64,
}

impl Prefix {
    /// Returns the prefix of a frame, or `None` if the bytes are not a frame.
    pub(super) fn of(sequence: u64, frame: &[u8]) -> Option<Self> {
        let checksum = FrameView::stored_checksum(frame)?;
        let length = frame.len() as u64;
        length.is_multiple_of(PREFIX).then_some(Prefix { length, sequence, checksum })
    }

    /// Returns the prefix of a frame of this length, with this checksum in its header.
    pub(super) fn new(sequence: u64, length: u64, checksum: u64) -> Self {
        Prefix { length, sequence, checksum }
    }

    /// Returns the bytes of the prefix in the segment that begins with the frame `first`.
    pub(super) fn to_bytes(self, first: u64) -> Block {
        block([self.length, self.sequence, self.checksum], first)
    }

    fn from_bytes(bytes: &Block, first: u64) -> Option<Self> {
        let [length, sequence, checksum] = words(bytes, first)?;
        length.is_multiple_of(PREFIX).then_some(Prefix { length, sequence, checksum })
    }

    /// Returns the length of the record in bytes.
    pub(super) fn record_len(self) -> u64 {
        PREFIX.saturating_add(self.length)
    }

    /// Returns what is wrong with the frame that follows this prefix, or `None` if the frame is valid.
    fn fault(&self, path: &std::path::Path, frame: &[u8]) -> Option<String> {
        if FrameView::stored_checksum(frame) != Some(self.checksum) {
            return Some("it has the header of another frame".to_owned());
        }
        let checked = FrameView::decode(path, frame).and_then(|view| view.verify(path));
        checked.err().map(|error| error.to_string())
    }
}

/// Returns the name of the file of the segment that begins with this frame.
pub(crate) fn name(first: u64) -> String {
    format!("segment-{first:020}")
}

/// Returns the sequence numbers in the names of all segments, in increasing order.
pub(super) fn all(directory: &Directory) -> Result<Vec<u64>> {
    let entries = std::fs::read_dir(directory.path()).map_err(|error| Error::io(directory.path(), error))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: Vec<u64> = names.filter_map(|name| name.strip_prefix("segment-")?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment that is being read. Meanwhile, a producer may append to it or reuse its file for another segment.
#[derive(Debug)]
pub(super) struct Segment {
    /// The sequence number of its first frame.
    pub(super) first: u64,
    path: PathBuf,
    file: File,
    /// Whether the file is known to begin with the header of this segment. After a crash of the machine, the disk may have only the
    /// name of the file.
    is_begun: bool,
    /// The offset of the next record.
    pub(super) at: u64,
    /// The sequence number after the last record before `at`.
    pub(super) next: u64,
}

impl Segment {
    /// Opens a segment, or returns `None` if it has been deleted.
    pub(super) fn open(directory: &Directory, first: u64) -> Result<Option<Self>> {
        let name = name(first);
        let file = match directory.open_file(&name, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = directory.join(&name);
        let mut segment = Segment { first, path, file, is_begun: false, at: PREFIX, next: first };
        segment.is_begun = segment.is_of_this_name()?;
        Ok(Some(segment))
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|error| Error::io(&self.path, error))?.len())
    }

    /// Returns whether the file begins with the header of this segment, and not with zeros or the header of an older segment.
    fn is_of_this_name(&self) -> Result<bool> {
        let mut bytes = [0; PREFIX as usize];
        if !self.fill(&mut bytes, 0)? || bytes == [0; PREFIX as usize] {
            return Ok(false);
        }
        for _ in 0..N_LOOKS {
            match words(&bytes, 0) {
                Some([MAGIC, VERSION, first]) => return Ok(first == self.first),
                // The file was deleted or reused for another segment since it was opened.
                _ if self.has_gone() => return Ok(false),
                // The producer may be writing the header.
                _ => std::thread::sleep(PAUSE),
            }
            if !self.fill(&mut bytes, 0)? {
                return Ok(false);
            }
        }
        let message = format!("expected a segment of version {VERSION} (MDREELSG): another version has written it");
        Err(Error::format(&self.path, None, Some(0), message))
    }

    /// Skips the next record without reading its frame. Returns `None` if there is no complete record.
    pub(super) fn pass(&mut self) -> Result<Option<Prefix>> {
        let Some(prefix) = self.prefix(self.at, self.next)? else { return Ok(None) };
        self.step_over(prefix);
        Ok(Some(prefix))
    }

    /// Reads the frame of the next record into `frame`. Returns `None` if there is no complete record: at the end, at a write that
    /// a crash of the machine has interrupted, and in a file that was reused for another segment.
    pub(super) fn read(&mut self, frame: &mut Vec<u8>) -> Result<Option<Prefix>> {
        let Some(prefix) = self.prefix(self.at, self.next)? else { return Ok(None) };
        // The prefix was checked against the length of the file, so the frame is not too long.
        frame.resize(prefix.length as usize, 0);
        if !self.fill(frame, self.at + PREFIX)? {
            return Ok(None);
        }
        if let Some(fault) = prefix.fault(&self.path, frame) {
            let behind = self.prefix(self.at + prefix.record_len(), prefix.sequence.saturating_add(1))?;
            // The name is checked last, because the producer renames a file before it overwrites the content.
            if behind.is_none() || self.has_gone() {
                return Ok(None);
            }
            // This is not an interrupted write at the end, because more records follow.
            let message = format!("a damaged frame with others behind it: {fault}");
            return Err(Error::format(&self.path, Some(prefix.sequence), Some(self.at), message));
        }
        self.step_over(prefix);
        Ok(Some(prefix))
    }

    fn step_over(&mut self, prefix: Prefix) {
        self.at += prefix.record_len();
        self.next = prefix.sequence.saturating_add(1);
    }

    /// Returns the prefix at `at` if it belongs to a frame with the number `next` or a later one, and the file contains the
    /// complete record.
    fn prefix(&mut self, at: u64, next: u64) -> Result<Option<Prefix>> {
        self.is_begun = self.is_begun || self.is_of_this_name()?;
        let mut bytes = [0; PREFIX as usize];
        let left = self.len()?.saturating_sub(at);
        if !self.is_begun || left < PREFIX || !self.fill(&mut bytes, at)? {
            return Ok(None);
        }
        let prefix = Prefix::from_bytes(&bytes, self.first);
        Ok(prefix.filter(|prefix| prefix.sequence >= next && prefix.record_len() <= left))
    }

    /// Returns whether the path no longer leads to this file, because the file was deleted or reused for another segment.
    pub(super) fn has_gone(&self) -> bool {
        let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
        let (here, there) = (self.file.metadata().map(identity), self.path.symlink_metadata().map(identity));
        !matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    /// Reads the bytes from `at` on. Returns false if the file is too short; it may have been truncated a moment ago.
    fn fill(&self, bytes: &mut [u8], at: u64) -> Result<bool> {
        match self.file.read_exact_at(bytes, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::io(&self.path, error)),
        }
    }
}
