//! Bytes of a file, by ranges: the one way in which sources reach storage.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Readable bytes behind every range handed out (their content is undefined), so that bit readers may load whole
/// words without a check. Never more than this may be read past a range's end.
pub const MARGIN: usize = 64;

/// Ranges closer than this are read in one call: copying the bytes between them costs less than a second call.
const COALESCE: u64 = 16 << 10;

/// A file that has been opened for reading, shared by all workers.
#[derive(Debug)]
pub struct FileBytes {
    path: PathBuf,
    file: File,
    len: u64,
}

impl FileBytes {
    /// Opens `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, error))?;
        if metadata.is_dir() {
            return Err(Error::io(path, std::io::ErrorKind::IsADirectory.into()));
        }
        Ok(FileBytes { path: path.to_owned(), file, len: metadata.len() })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's size in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads exactly `range` into a new vector: for headers and the like.
    pub fn read_vec(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read_exact(&mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Fills `buffer` from `offset` on.
    pub fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::format(
                &self.path,
                None,
                Some(offset),
                format!("the file ends before byte {}; was it cut while being read?", offset + buffer.len() as u64),
            ),
            _ => Error::io(&self.path, error),
        })
    }

    /// A reader for one worker.
    pub fn reader(&self) -> ByteReader<'_> {
        ByteReader { file: self, arena: Vec::new(), places: Vec::new() }
    }
}

/// One worker's reader: loads a few ranges of bytes at a time into memory that it uses again.
#[derive(Debug)]
pub struct ByteReader<'a> {
    file: &'a FileBytes,
    arena: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl ByteReader<'_> {
    /// Loads `ranges` (ascending, within the file) and returns how many bytes were read. What was loaded before
    /// is gone.
    pub fn load(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        self.places.clear();
        let mut used = 0;
        let mut i = 0;
        while i < ranges.len() {
            let start = ranges[i].start;
            let mut end = ranges[i].end;
            let mut next = i + 1;
            while next < ranges.len() && ranges[next].start >= start && ranges[next].start <= end + COALESCE {
                end = end.max(ranges[next].end);
                next += 1;
            }
            let length = (end - start) as usize;
            if self.arena.len() < used + length + MARGIN {
                self.arena.resize(used + length + MARGIN, 0);
            }
            self.file.read_exact(&mut self.arena[used..used + length], start)?;
            for range in &ranges[i..next] {
                let at = used + (range.start - start) as usize;
                self.places.push(at..at + (range.end - range.start) as usize);
            }
            used += length;
            i = next;
        }
        Ok(used as u64)
    }

    /// The bytes of the `i`-th range loaded. At least [`MARGIN`] more bytes may be read behind them.
    pub fn get(&self, i: usize) -> &[u8] {
        &self.arena[self.places[i].clone()]
    }

    /// Confirms, after the loaded bytes were used, that they were the file's: a mapped file may have been cut in
    /// the meantime.
    pub fn confirm(&self) -> Result<()> {
        Ok(())
    }
}
