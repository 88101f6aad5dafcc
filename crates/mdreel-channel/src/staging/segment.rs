//! Segments: the files of a staging, and the records in them.
//!
//! A segment is called after the sequence number of its first frame; numbers grow from record to record and from segment to segment.
//! All numbers are little endian. A segment begins with 64 bytes:
//!
//! | byte | type | what |
//! |---|---|---|
//! | 0 | 8 bytes | `MDREELSG` |
//! | 8 | u64 | version: 2 |
//! | 16 | u64 | sequence number of the first frame |
//! | 24 | u64 | checksum of the bytes before it |
//! | 32 | 32 bytes | zeros |
//!
//! Records follow. Each begins at a multiple of 64 bytes with 64 bytes of its own, and then has the bytes of the frame:
//!
//! | byte | type | what |
//! |---|---|---|
//! | 0 | u64 | length of the frame, a multiple of 64 |
//! | 8 | u64 | sequence number of the frame |
//! | 16 | u64 | the checksum in the header of the frame |
//! | 24 | u64 | checksum of the bytes before it, with the number of the segment's first frame for a seed |
//! | 32 | 32 bytes | zeros |
//!
//! The prefix of a record is written when its frame and what ends the records behind it are there. A file may be one that an older
//! segment was: what that has left behind the last record is ended by 64 zeros, and its prefixes have another seed.
//! The frame has checksums of its own, of its header and each section; the record adds none, and refers to them by that of the header.

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
/// The bytes of a segment before its first record, and those of a record before its frame.
pub(super) const PREFIX: u64 = ALIGNMENT as u64;

/// Number of times that a reader looks at a header that is not valid, and the time between two looks.
const N_LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(1);

/// What stands before a frame, or at the beginning of a segment.
pub(super) type Block = [u8; PREFIX as usize];

/// Three numbers and their checksum.
fn block(words: [u64; 3], seed: u64) -> Block {
    let mut bytes = [0; PREFIX as usize];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    let sum = XxHash3_64::oneshot_with_seed(seed, &bytes[..24]);
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The numbers of such bytes, if their checksum is right.
fn words(bytes: &Block, seed: u64) -> Option<[u64; 3]> {
    let mut each = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let words = [each.next()?, each.next()?, each.next()?];
    (block(words, seed) == *bytes).then_some(words)
}

/// The first bytes of the segment that begins with this frame.
pub(super) fn header(first: u64) -> Block {
    block([MAGIC, VERSION, first], 0)
}

/// What stands before a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    length: u64,
    pub(super) sequence: u64,
    /// The checksum in the header of the frame.
    checksum: u64,
}

impl Prefix {
    /// That of a frame; `None` for what is none.
    pub(super) fn of(sequence: u64, frame: &[u8]) -> Option<Self> {
        let checksum = FrameView::stored_checksum(frame)?;
        let length = frame.len() as u64;
        length.is_multiple_of(PREFIX).then_some(Prefix { length, sequence, checksum })
    }

    /// As it stands in the segment that begins with the frame `first`.
    pub(super) fn to_bytes(self, first: u64) -> Block {
        block([self.length, self.sequence, self.checksum], first)
    }

    fn from_bytes(bytes: &Block, first: u64) -> Option<Self> {
        let [length, sequence, checksum] = words(bytes, first)?;
        length.is_multiple_of(PREFIX).then_some(Prefix { length, sequence, checksum })
    }

    /// The bytes of the record.
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

/// The sequence numbers after which the segments are called, in order.
pub(super) fn all(directory: &Directory) -> Result<Vec<u64>> {
    let entries = std::fs::read_dir(directory.path()).map_err(|error| Error::io(directory.path(), error))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: Vec<u64> = names.filter_map(|name| name.strip_prefix("segment-")?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment that is read, perhaps while it is written to, or while its file becomes that of another segment.
#[derive(Debug)]
pub(super) struct Segment {
    /// The sequence number of its first frame.
    pub(super) first: u64,
    path: PathBuf,
    file: File,
    /// Whether the file is that of this segment: after a crash of the machine it may be one of which the disk has the name alone.
    is_begun: bool,
    /// Where the next record begins.
    pub(super) at: u64,
    /// The sequence number behind that of the last record before `at`.
    pub(super) next: u64,
}

impl Segment {
    /// Opens a segment; `None` if it has been deleted.
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

    /// Whether the file begins as this segment does, and not with nothing, or as an older one.
    fn is_of_this_name(&self) -> Result<bool> {
        let mut bytes = [0; PREFIX as usize];
        if !self.fill(&mut bytes, 0)? || bytes == [0; PREFIX as usize] {
            return Ok(false);
        }
        for _ in 0..N_LOOKS {
            match words(&bytes, 0) {
                Some([MAGIC, VERSION, first]) => return Ok(first == self.first),
                // It has become another segment since it was opened.
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

    /// Goes over the next record, without a look at its frame. `None` where no record is whole.
    pub(super) fn pass(&mut self) -> Result<Option<Prefix>> {
        let Some(prefix) = self.prefix(self.at, self.next)? else { return Ok(None) };
        self.step_over(prefix);
        Ok(Some(prefix))
    }

    /// Reads the next record's frame into `frame`. `None` where no record is whole: at the end, where a crash of the machine has
    /// cut a write short, and where the file has become that of another segment.
    pub(super) fn read(&mut self, frame: &mut Vec<u8>) -> Result<Option<Prefix>> {
        let Some(prefix) = self.prefix(self.at, self.next)? else { return Ok(None) };
        // Not more than the file has.
        frame.resize(prefix.length as usize, 0);
        if !self.fill(frame, self.at + PREFIX)? {
            return Ok(None);
        }
        if let Some(fault) = prefix.fault(&self.path, frame) {
            let behind = self.prefix(self.at + prefix.record_len(), prefix.sequence.saturating_add(1))?;
            // In this order: a file has another name before it is written to anew.
            if behind.is_none() || self.has_gone() {
                return Ok(None);
            }
            // Not the end of a write that was cut short: there is more behind it.
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

    /// The prefix at `at`, if there is one of a frame with the number `next` or a later one, and the file is long enough for it.
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

    /// Whether the file has its name no more: it was deleted, or has become that of another segment.
    pub(super) fn has_gone(&self) -> bool {
        let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
        let (here, there) = (self.file.metadata().map(identity), self.path.symlink_metadata().map(identity));
        !matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    /// Whether the bytes from `at` on are there; they may have been cut off a moment ago.
    fn fill(&self, bytes: &mut [u8], at: u64) -> Result<bool> {
        match self.file.read_exact_at(bytes, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::io(&self.path, error)),
        }
    }
}
