//! Segments: the files of a staging, and the records in them.
//!
//! A record is the length of a frame, its sequence number and a checksum (u64 each), then the frame. The checksum is that of all
//! bytes of the frame, with the sequence number for a seed, so that it covers both. A segment is called after the sequence number of
//! its first frame; numbers grow from record to record and from segment to segment.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use twox_hash::XxHash3_64;

use super::super::directory::Directory;
use mdreel_core::error::{Error, Result};

/// The bytes of a record before its frame.
pub(super) const PREFIX: u64 = 24;

/// What stands before a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    length: u64,
    pub(super) sequence: u64,
    checksum: u64,
}

impl Prefix {
    pub(super) fn of(sequence: u64, frame: &[u8]) -> Self {
        Prefix { length: frame.len() as u64, sequence, checksum: checksum(sequence, frame) }
    }

    pub(super) fn to_bytes(self) -> [u8; PREFIX as usize] {
        let mut bytes = [0; PREFIX as usize];
        let words = [self.length, self.sequence, self.checksum];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: [u8; PREFIX as usize]) -> Self {
        let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or_default();
        Prefix { length: next(), sequence: next(), checksum: next() }
    }

    /// The bytes of the record.
    pub(super) fn record_len(self) -> u64 {
        PREFIX.saturating_add(self.length)
    }
}

fn checksum(sequence: u64, frame: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(sequence, frame)
}

pub(super) fn name(first: u64) -> String {
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

/// A segment that is read, perhaps while it is written to.
#[derive(Debug)]
pub(super) struct Segment {
    /// The sequence number of its first frame.
    pub(super) first: u64,
    path: PathBuf,
    file: File,
    /// Where the next record begins.
    pub(super) at: u64,
    /// The sequence number behind that of the last record before `at`.
    pub(super) next: u64,
}

impl Segment {
    /// Opens a segment; `None` if it has been deleted.
    pub(super) fn open(directory: &Directory, first: u64) -> Result<Option<Self>> {
        let name = name(first);
        match directory.open_file(&name, OpenOptions::new().read(true)) {
            Ok(file) => Ok(Some(Segment { first, path: directory.join(&name), file, at: 0, next: first })),
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }

    pub(super) fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|error| Error::io(&self.path, error))?.len())
    }

    /// Goes over the next record, without a look at its frame. `None` where no record is whole.
    pub(super) fn pass(&mut self) -> Result<Option<Prefix>> {
        let Some((prefix, _)) = self.prefix()? else { return Ok(None) };
        self.step_over(prefix);
        Ok(Some(prefix))
    }

    /// Reads the next record's frame into `frame`. `None` where no record is whole: at the end, and where a write was cut short, or
    /// is going on.
    pub(super) fn read(&mut self, frame: &mut Vec<u8>) -> Result<Option<Prefix>> {
        let Some((prefix, length)) = self.prefix()? else { return Ok(None) };
        // Not more than the file has.
        frame.resize(prefix.length as usize, 0);
        if !self.fill(frame, self.at + PREFIX)? {
            return Ok(None);
        }
        let sum = checksum(prefix.sequence, frame);
        if sum != prefix.checksum {
            let behind = length - self.at - prefix.record_len();
            if behind == 0 {
                return Ok(None);
            }
            // Not the end of a write that was cut short: there is more behind it.
            let message = format!(
                "a damaged frame with {behind} bytes behind it: its checksum is {sum:#018x}, expected {:#018x}",
                prefix.checksum
            );
            return Err(Error::format(&self.path, Some(prefix.sequence), Some(self.at), message));
        }
        self.step_over(prefix);
        Ok(Some(prefix))
    }

    fn step_over(&mut self, prefix: Prefix) {
        self.at += prefix.record_len();
        self.next = prefix.sequence.saturating_add(1);
    }

    /// The prefix of the next record, if the file is long enough for the whole of it, and the length of the file.
    fn prefix(&self) -> Result<Option<(Prefix, u64)>> {
        let length = self.len()?;
        let left = length.saturating_sub(self.at);
        let mut bytes = [0; PREFIX as usize];
        if left < PREFIX || !self.fill(&mut bytes, self.at)? {
            return Ok(None);
        }
        let prefix = Prefix::from_bytes(bytes);
        Ok((prefix.record_len() <= left).then_some((prefix, length)))
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
