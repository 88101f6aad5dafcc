//! Readers that load ranges of bytes.

use std::ops::Range;
use std::sync::Arc;

use super::map::{FileMap, Held};
use super::open_files::Handle;
use super::read_ahead::ReadAhead;
use super::remote::Stream;
use super::{FileBytes, MARGIN, Storage};
use crate::error::Result;

/// Largest gap in bytes between ranges that are read in one call. Copying the bytes in the gap costs less than a second
/// call.
const COALESCE: u64 = 16 << 10;

/// The same gap for requests to a server, and for calls of another library.
const COALESCE_REMOTE: u64 = 64 << 10;

/// Runs shorter than this number of bytes are copied even if the file is mapped. Below it, the setup and removal of
/// page table entries costs more than the copy (`docs/design/002-reading-bytes.md`).
const LEAST_MAPPED: u64 = 32 << 10;

/// The place of a loaded range.
#[derive(Debug, Clone)]
enum Place {
    Map(Range<usize>),
    Arena(Range<usize>),
}

/// The reader of one worker. It loads a few ranges of bytes at a time, from a map or into a buffer that it reuses.
#[derive(Debug)]
pub struct ByteReader<'a> {
    file: &'a FileBytes,
    /// The open file and whether it is mapped; `None` before the first load.
    handle: Option<(Arc<Handle>, bool)>,
    read_ahead: ReadAhead,
    held: Held,
    stream: Stream,
    runs: Vec<Range<u64>>,
    arena: Vec<u8>,
    places: Vec<Place>,
}

impl<'a> ByteReader<'a> {
    pub(super) fn new(file: &'a FileBytes) -> Self {
        ByteReader {
            file,
            handle: None,
            read_ahead: ReadAhead::default(),
            held: Held::default(),
            stream: Stream::default(),
            runs: Vec::new(),
            arena: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Announces that the worker reads no bytes from `end` on. The reader then requests bytes ahead from a server only
    /// up to `end`.
    pub(crate) fn expect_until(&mut self, end: u64) {
        self.stream.expect_until(end.min(self.file.len()));
    }

    /// Returns the open file and whether it is mapped. Returns `None` for a remote file.
    fn handle(&mut self) -> Result<Option<(Arc<Handle>, bool)>> {
        let Storage::Local(file) = &self.file.storage else { return Ok(None) };
        if self.handle.is_none() {
            let handle = file.handle()?;
            let is_mapped = handle.map().is_some_and(FileMap::is_safe_here);
            self.handle = Some((handle, is_mapped));
        }
        Ok(self.handle.clone())
    }

    fn map(&self) -> Option<&FileMap> {
        let (handle, is_mapped) = self.handle.as_ref()?;
        handle.map().filter(|_| *is_mapped)
    }

    /// Loads `ranges` (ascending, within the file) and returns the number of bytes read. Ranges loaded before become
    /// invalid.
    pub fn load(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        self.places.clear();
        let handle = self.handle()?;
        self.refuse_broken()?;
        let external = self.file.external.as_deref();
        let is_plain = handle.is_some() && external.is_none();
        self.join(ranges, if is_plain { COALESCE } else { COALESCE_REMOTE })?;
        if let Some((handle, _)) = handle.as_ref().filter(|_| is_plain) {
            self.read_ahead.before(&handle.file, &self.runs, COALESCE);
        }
        let map = handle.as_ref().and_then(|(handle, is_mapped)| handle.map().filter(|_| *is_mapped && is_plain));
        let mut used = 0;
        let mut next = 0;
        for i in 0..self.runs.len() {
            let run = self.runs[i].clone();
            // The members of the run are all ranges from `next` on that lie within it, because the ranges ascend.
            let inside = |range: &Range<u64>| run.start <= range.start && range.end <= run.end;
            let count = ranges[next..].iter().take_while(|range| inside(range)).count();
            let members = &ranges[next..next + count];
            next += count;
            let from = |range: &Range<u64>, start: u64| (range.start - start) as usize..(range.end - start) as usize;
            match map {
                // Bytes after the last page cannot be read, so the end of a file may have to be copied.
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
                    if let Some((handle, _)) = handle.as_ref().filter(|_| is_plain) {
                        self.file.read_from(handle, &mut self.arena[used..used + length], run.start)?;
                    }
                    let shift = |bytes: Range<usize>| bytes.start + used..bytes.end + used;
                    self.places.extend(members.iter().map(|range| Place::Arena(shift(from(range, run.start)))));
                    used += length;
                }
            }
        }
        if let Some(reads) = external {
            self.file.read_externally(reads, &self.runs, &mut self.arena[..used])?;
        } else if let Storage::Remote(remote) = &self.file.storage {
            self.stream.read(remote, &self.runs, &mut self.arena)?;
        }
        Ok(self.runs.iter().map(|run| run.end - run.start).sum())
    }

    /// Joins ranges into runs if the gap between them is at most `near` bytes.
    fn join(&mut self, ranges: &[Range<u64>], near: u64) -> Result<()> {
        self.runs.clear();
        for range in ranges {
            self.file.check(range)?;
            match self.runs.last_mut() {
                Some(run) if range.start >= run.start && range.start - run.start <= run.end - run.start + near => {
                    run.end = run.end.max(range.end);
                }
                _ => self.runs.push(range.clone()),
            }
        }
        Ok(())
    }

    /// Returns the bytes of the `i`-th loaded range. At least [`MARGIN`] more bytes may be read after them.
    pub fn get(&self, i: usize) -> &[u8] {
        match &self.places[i] {
            Place::Map(range) => &self.mapped()[range.clone()],
            Place::Arena(range) => &self.arena[range.clone()],
        }
    }

    /// Returns the bytes of the `i`-th loaded range and [`MARGIN`] more bytes of undefined content.
    pub fn get_with_margin(&self, i: usize) -> &[u8] {
        match &self.places[i] {
            Place::Map(range) => &self.mapped()[range.start..range.end + MARGIN],
            Place::Arena(range) => &self.arena[range.start..range.end + MARGIN],
        }
    }

    /// Confirms, after the loaded bytes were used, that they came from the file. This costs one system call.
    ///
    /// If the file has been truncated, its map yields zeros. The kernel sends a signal, except on the page on which the
    /// file now ends. A read during the truncation yields zeros as well: the kernel reads the size and then copies
    /// pages, whose ends the truncation clears in the meantime. In both cases the size shows the truncation, because
    /// the kernel changes the size first.
    pub fn confirm(&self) -> Result<()> {
        self.refuse_broken()?;
        let Some((handle, _)) = &self.handle else { return Ok(()) };
        // The order matters: for a growing file, more bytes may count a moment later.
        let expected = self.file.len();
        let size = self.file.size_of(handle)?;
        if size >= expected {
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
