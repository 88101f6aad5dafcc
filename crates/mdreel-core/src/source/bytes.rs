//! Bytes of a file, by ranges: the one way in which sources reach storage.

mod access;
mod bus_error;
mod map;
mod open_files;
pub mod prefetch;
mod read_ahead;

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use map::{FileMap, Held};
use open_files::{Handle, Reopened};
use read_ahead::ReadAhead;

pub use access::Access;
pub use open_files::OpenFiles;

/// Readable bytes behind every range handed out (their content is undefined), so that bit readers may load whole
/// words without a check. Never more than this may be read past a range's end.
pub const MARGIN: usize = 64;

/// Ranges closer than this are read in one call: copying the bytes between them costs less than a second call.
const COALESCE: u64 = 16 << 10;

/// Runs shorter than this are copied even where the file is mapped: below it, setting up and tearing down the page table
/// costs more than the copy (`docs/design/002-reading-bytes.md`).
const LEAST_MAPPED: u64 = 32 << 10;

/// A file that has been opened for reading, shared by all workers.
#[derive(Debug)]
pub struct FileBytes {
    file: Reopened,
}

impl FileBytes {
    /// Opens `path`. With [`Access::Auto`] and [`Access::Map`] the file is mapped where that is possible and safe.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        Self::open_among(path, access, Arc::default())
    }

    /// Opens `path` as one of many, of which only some are open at a time.
    pub fn open_among(path: &Path, access: Access, open_files: Arc<OpenFiles>) -> Result<Self> {
        Ok(FileBytes { file: Reopened::new(path, access, open_files)? })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file's size in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.file.len
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the file's bytes are reached: [`Access::Map`] or [`Access::Read`].
    pub fn access(&self) -> Result<Access> {
        Ok(if self.file.handle()?.map().is_some() { Access::Map } else { Access::Read })
    }

    /// Reads exactly `range` into a new vector: for headers and the like.
    pub fn read_vec(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.check(&range)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read_exact(&mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Fills `buffer` from `offset` on.
    pub fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.read_from(&*self.file.handle()?, buffer, offset)
    }

    fn read_from(&self, handle: &Handle, buffer: &mut [u8], offset: u64) -> Result<()> {
        handle.file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.ends_early(offset, offset.saturating_add(buffer.len() as u64)),
            _ => Error::io(self.path(), error),
        })
    }

    /// A reader for one worker, to be first used on the thread that will go on using it.
    pub fn reader(&self) -> ByteReader<'_> {
        ByteReader {
            file: self,
            handle: None,
            read_ahead: ReadAhead::default(),
            held: Held::default(),
            runs: Vec::new(),
            arena: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Refuses ranges that the file cannot hold, before memory is taken for them. The file may have grown since it was
    /// opened.
    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.start > range.end {
            return Err(Error::Mismatch(format!(
                "{}: a range of bytes ends ({}) before it starts ({})",
                self.path().display(),
                range.end,
                range.start
            )));
        }
        if range.end > self.len() && range.end > self.size_now()? {
            return Err(self.ends_early(range.start, range.end));
        }
        Ok(())
    }

    fn size_now(&self) -> Result<u64> {
        self.size_of(&*self.file.handle()?)
    }

    fn size_of(&self, handle: &Handle) -> Result<u64> {
        Ok(handle.file.metadata().map_err(|error| Error::io(self.path(), error))?.len())
    }

    fn ends_early(&self, start: u64, end: u64) -> Error {
        let found = match self.size_now() {
            Ok(size) if size < self.len() => {
                format!("the file was cut while being read: it had {} bytes, now {size}", self.len())
            }
            Ok(size) => format!("the file ends at byte {size}"),
            Err(_) => "the file ends early".to_owned(),
        };
        Error::format(self.path(), None, Some(start), format!("bytes up to {end} were expected, but {found}"))
    }

    /// The error for a map in which `byte` could not be read.
    fn broken(&self, byte: u64) -> Error {
        let (byte, found) = match self.size_now() {
            Ok(size) if size < self.len() => (byte.max(size), format!("it had {} bytes, now {size}", self.len())),
            // Storage that fails looks the same to a map, and a file may have been cut and written anew.
            _ => (byte, "or its storage failed".to_owned()),
        };
        Error::format(self.path(), None, Some(byte), format!("the file was cut while being read: {found}"))
    }
}

/// Where a loaded range lies.
#[derive(Debug, Clone)]
enum Place {
    Map(Range<usize>),
    Arena(Range<usize>),
}

/// One worker's reader: loads a few ranges of bytes at a time, from a map or into memory that it uses again.
#[derive(Debug)]
pub struct ByteReader<'a> {
    file: &'a FileBytes,
    /// The open file, from the first load on, and whether it is mapped.
    handle: Option<(Arc<Handle>, bool)>,
    read_ahead: ReadAhead,
    held: Held,
    runs: Vec<Range<u64>>,
    arena: Vec<u8>,
    places: Vec<Place>,
}

impl ByteReader<'_> {
    fn handle(&mut self) -> Result<(Arc<Handle>, bool)> {
        if let Some((handle, is_mapped)) = &self.handle {
            return Ok((Arc::clone(handle), *is_mapped));
        }
        let handle = self.file.file.handle()?;
        let is_mapped = handle.map().is_some_and(FileMap::is_safe_here);
        Ok(self.handle.insert((handle, is_mapped)).clone())
    }

    fn map(&self) -> Option<&FileMap> {
        let (handle, is_mapped) = self.handle.as_ref()?;
        handle.map().filter(|_| *is_mapped)
    }

    /// Loads `ranges` (ascending, within the file) and returns how many bytes were read. What was loaded before
    /// is gone.
    pub fn load(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        self.places.clear();
        let (handle, is_mapped) = self.handle()?;
        let map = handle.map().filter(|_| is_mapped);
        self.refuse_broken()?;
        self.runs.clear();
        for range in ranges {
            self.file.check(range)?;
            match self.runs.last_mut() {
                Some(run) if range.start >= run.start && range.start - run.start <= run.end - run.start + COALESCE => {
                    run.end = run.end.max(range.end);
                }
                _ => self.runs.push(range.clone()),
            }
        }
        self.read_ahead.before(&handle.file, &self.runs, COALESCE);
        let mut used = 0;
        let mut next = 0;
        for i in 0..self.runs.len() {
            let run = self.runs[i].clone();
            // Which ranges make up the run: all that lie within it from here on, as they ascend.
            let inside = |range: &Range<u64>| run.start <= range.start && range.end <= run.end;
            let count = ranges[next..].iter().take_while(|range| inside(range)).count();
            let members = &ranges[next..next + count];
            next += count;
            let from = |range: &Range<u64>, start: u64| (range.start - start) as usize..(range.end - start) as usize;
            match map {
                // Bytes behind the last page cannot be read, so that the end of a file may have to be copied.
                Some(map)
                    if run.end - run.start >= LEAST_MAPPED
                        && run.end.saturating_add(MARGIN as u64) <= map.len() as u64 =>
                {
                    let bytes = from(&run, 0);
                    self.held.hold(map, &bytes);
                    map.populate(bytes);
                    self.refuse_broken()?;
                    self.places.extend(members.iter().map(|range| Place::Map(from(range, 0))));
                }
                _ => {
                    let length = (run.end - run.start) as usize;
                    if self.arena.len() < used + length + MARGIN {
                        self.arena.resize(used + length + MARGIN, 0);
                    }
                    self.file.read_from(&handle, &mut self.arena[used..used + length], run.start)?;
                    let shift = |bytes: Range<usize>| bytes.start + used..bytes.end + used;
                    self.places.extend(members.iter().map(|range| Place::Arena(shift(from(range, run.start)))));
                    used += length;
                }
            }
        }
        Ok(self.runs.iter().map(|run| run.end - run.start).sum())
    }

    /// The bytes of the `i`-th range loaded. At least [`MARGIN`] more bytes may be read behind them.
    pub fn get(&self, i: usize) -> &[u8] {
        match &self.places[i] {
            Place::Map(range) => &self.mapped()[range.clone()],
            Place::Arena(range) => &self.arena[range.clone()],
        }
    }

    /// The bytes of the `i`-th range loaded and [`MARGIN`] more of undefined content.
    pub fn get_with_margin(&self, i: usize) -> &[u8] {
        match &self.places[i] {
            Place::Map(range) => &self.mapped()[range.start..range.end + MARGIN],
            Place::Arena(range) => &self.arena[range.start..range.end + MARGIN],
        }
    }

    /// Confirms, after the loaded bytes were used, that they were the file's. One system call.
    ///
    /// A map of a file that is cut gives zeros, with a signal or (on the page on which the file ends now) without. A
    /// read that meets the cutting gives zeros as well: the system looks at the size, copies pages, and meanwhile
    /// their ends are cleared. Both show in the size, which the system changes first.
    pub fn confirm(&self) -> Result<()> {
        self.refuse_broken()?;
        let Some((handle, _)) = &self.handle else { return Ok(()) };
        let size = self.file.size_of(handle)?;
        if size >= self.file.len() {
            return Ok(());
        }
        if let Some(map) = self.map() {
            map.break_at(size as usize);
        }
        Err(self.file.broken(size))
    }

    fn refuse_broken(&self) -> Result<()> {
        match self.map().and_then(FileMap::broken_at) {
            Some(byte) => Err(self.file.broken(byte)),
            None => Ok(()),
        }
    }

    fn mapped(&self) -> &[u8] {
        self.map().map_or(&[], FileMap::bytes)
    }
}

impl Drop for ByteReader<'_> {
    fn drop(&mut self) {
        if let Some((handle, true)) = &self.handle
            && let Some(map) = handle.map()
        {
            self.held.release(map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_when_no_map_can_be_guarded() {
        let page = 1 << 16;
        let guards: Vec<_> = (1..).map_while(|i| bus_error::Guard::new(i * page..(i + 1) * page)).collect();
        assert!(guards.len() > 100);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 1000]).unwrap();
        let bytes = FileBytes::open(file.path(), Access::Map).unwrap();
        assert_eq!(bytes.access().unwrap(), Access::Read);
        let mut reader = bytes.reader();
        reader.load(std::slice::from_ref(&(10..20))).unwrap();
        assert_eq!(reader.get(0), [7; 10]);
        reader.confirm().unwrap();
        drop(guards);
        assert_eq!(FileBytes::open(file.path(), Access::Map).unwrap().access().unwrap(), Access::Map);
    }
}
