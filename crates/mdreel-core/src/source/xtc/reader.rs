//! Reader of one worker, which finds the next frames, loads their bytes and decodes them.

use std::ops::Range;

use super::Xtc;
use super::coded::Coded;
use super::control::{LANES, Wanted};
use super::decode::{Decoded, Decoder};
use super::full_checks::FullChecks;
use super::header::{Header, MAX_HEADER_LEN, Storage};
use super::plain::decode_plain;
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{ColumnsMut, FrameBatch, FrameHeader, Quantities};
use crate::source::bytes::prefetch::prefetch;
use crate::source::bytes::{ByteReader, MARGIN};
use crate::source::fault::Fault;
use crate::source::located::{ChainedHeader, LocatedFile, location};
use crate::source::{AtomSelection, LocatedFrames, Reader};
use crate::span::{Recorder, SpanKind};
use crate::unit_cell::UnitCell;

/// Number of bytes to load at a time: large enough for efficient access to the storage, small enough for the cache.
const WINDOW: u64 = 1 << 20;
/// Maximum number of frames to load at a time.
const MAX_LOADED: usize = 1024;
/// Frames smaller than this are read completely, because omitting the rest would save less than a page.
const SMALL_FRAME: u64 = 32 << 10;

/// A frame whose bytes are in memory.
#[derive(Debug, Clone)]
struct Loaded {
    /// Number in the trajectory, or in the block if the number of frames before the block is unknown.
    number: u64,
    /// Position of the first byte in the file.
    offset: u64,
    header: Header,
    /// Index of the loaded range that contains the frame, and the position of the frame in that range.
    slot: usize,
    place: Range<usize>,
}

/// Frames of an extent that have not been loaded yet.
#[derive(Debug)]
enum Rest {
    /// The frames of `set` from the `next`-th on.
    Frames { set: FrameSet, next: u64 },
    /// The frames that start at `at` or later and before `end`. The next frame has the number `number`.
    Bytes { at: u64, end: u64, number: u64 },
}

/// Reader of the frames of an XTC file for one worker.
pub(super) struct XtcReader<'a> {
    file: &'a LocatedFile<Header>,
    atoms: &'a AtomSelection,
    wanted: Wanted,
    bytes: ByteReader<'a>,
    decoder: Decoder,
    /// Comparisons of frames with their headers and other frames, if any.
    checks: Option<FullChecks>,
    rest: Rest,
    located: LocatedFrames,
    /// Frames whose bytes are in memory. Frames from `next` on have not been decoded yet.
    loaded: Vec<Loaded>,
    next: usize,
    ranges: Vec<Range<u64>>,
    ends: Vec<Decoded>,
    /// Largest number of bytes that the decoding of a frame has needed so far, including its header; 0 if unknown.
    needed: u64,
}

impl<'a> XtcReader<'a> {
    pub(crate) fn new(xtc: &'a Xtc, atoms: &'a AtomSelection, checks: Option<FullChecks>) -> Self {
        XtcReader {
            file: &xtc.frames,
            atoms,
            wanted: Wanted::new(atoms.indices()),
            bytes: xtc.frames.file.reader(),
            decoder: Decoder::new(xtc.level),
            checks,
            rest: Rest::Bytes { at: 0, end: 0, number: 0 },
            located: LocatedFrames::default(),
            loaded: Vec::new(),
            next: 0,
            ranges: Vec::new(),
            ends: Vec::new(),
            needed: 0,
        }
    }

    /// Returns the number of bytes of a frame of `frame_len` bytes to load: all bytes, or a few more than previous
    /// frames needed.
    fn prefix(&self, frame_len: u64) -> u64 {
        let prefix = self.needed + self.needed / 16 + 256;
        if self.checks.is_some() || self.needed == 0 || frame_len < SMALL_FRAME || prefix > frame_len / 4 * 3 {
            frame_len
        } else {
            prefix
        }
    }

    /// Returns whether the reader should load a large frame alone, to learn how many bytes of the other frames it
    /// needs.
    fn is_first_look(&self, frame_len: u64) -> bool {
        self.needed == 0 && frame_len >= SMALL_FRAME
    }

    fn error(&self, frame: &Loaded, fault: &Fault) -> Error {
        fault.error(self.file.file.path(), Some(frame.number), frame.offset)
    }

    /// Loads the next frames of a list of frames.
    fn load_listed(&mut self) -> Result<u64> {
        let Rest::Frames { set, next } = &self.rest else { return Ok(0) };
        self.ranges.clear();
        let mut numbers = Vec::new();
        let mut total = 0;
        let mut i = *next;
        while i < set.len() && numbers.len() < MAX_LOADED && (total < WINDOW || numbers.len() < LANES) {
            let number = set.get(i);
            let whole = self.file.range(number)?;
            let frame_len = whole.end - whole.start;
            let range = whole.start..whole.start + self.prefix(frame_len);
            // Ranges are loaded in ascending order, so a step back ends the batch.
            if self.ranges.last().is_some_and(|last| range.start < last.end) {
                break;
            }
            total += range.end - range.start;
            self.ranges.push(range);
            numbers.push((number, frame_len));
            i += 1;
            if self.is_first_look(frame_len) {
                break;
            }
        }
        let n_bytes = self.bytes.load(&self.ranges)?;
        // Headers are far apart, so all are prefetched before the first is read. Each header lies in two or three cache
        // lines.
        for slot in 0..numbers.len() {
            let header = self.bytes.get(slot).as_ptr();
            [0, 64].into_iter().for_each(|line| prefetch(header.wrapping_add(line)));
        }
        for (slot, (number, frame_len)) in numbers.into_iter().enumerate() {
            let bytes = self.bytes.get(slot);
            let range = &self.ranges[slot];
            let header = self
                .file
                .check_header(bytes, range.start)
                .and_then(|header| match header.frame_len() {
                    len if len == frame_len => Ok(header),
                    len => Err(Fault::new(0, format!("the frame has {len} bytes, its index says {frame_len}"))),
                })
                .map_err(|fault| fault.error(self.file.file.path(), Some(number), range.start))?;
            self.loaded.push(Loaded { number, offset: range.start, header, slot, place: 0..bytes.len() });
        }
        self.rest = Rest::Frames { set: set.clone(), next: i };
        Ok(n_bytes)
    }

    /// Loads the next frames of a range of bytes and records their positions.
    fn load_unlocated(&mut self) -> Result<u64> {
        let Rest::Bytes { mut at, end, mut number } = self.rest else { return Ok(0) };
        if at >= end {
            return Ok(0);
        }
        let file = &self.file.file;
        let first = self.file.header_at(at)?;
        let n_bytes;
        if self.prefix(first.frame_len()) == first.frame_len() {
            // The reader needs complete frames, so it loads one window and uses all frames that the window contains.
            let n_frames = if self.is_first_look(first.frame_len()) { 1 } else { LANES as u64 };
            let several = at + n_frames * first.frame_len();
            let several = if n_frames == 1 { several } else { several.max(at + WINDOW) };
            // The last frame of the extent may begin just before the end of the extent. The next window then starts
            // with it.
            let window = at..file.len().min(several).min(end.max(at + first.frame_len()) + MAX_HEADER_LEN as u64);
            n_bytes = self.bytes.load(std::slice::from_ref(&window))?;
            let bytes = self.bytes.get(0);
            while at < end && self.loaded.len() < MAX_LOADED {
                let start = (at - window.start) as usize;
                let rest = &bytes[start..];
                // The window ends within this frame, so the next window starts with it.
                if rest.len() < MAX_HEADER_LEN && window.end < file.len() {
                    break;
                }
                match self.file.check_header(rest, at) {
                    Ok(header) if header.frame_len() <= rest.len() as u64 => {
                        let place = start..start + header.frame_len() as usize;
                        self.loaded.push(Loaded { number, offset: at, header, slot: 0, place });
                        at += header.frame_len();
                        number += 1;
                    }
                    Ok(_) => break,
                    Err(fault) => return Err(fault.error(file.path(), None, at)),
                }
            }
        } else {
            // The reader needs only the first part of large frames, so it hops from header to header.
            self.ranges.clear();
            while at < end && self.loaded.len() < 4 * LANES {
                let header = self.file.header_at(at)?;
                let len = self.prefix(header.frame_len());
                self.ranges.push(at..at + len);
                let slot = self.loaded.len();
                self.loaded.push(Loaded { number, offset: at, header, slot, place: 0..len as usize });
                at += header.frame_len();
                number += 1;
            }
            n_bytes = self.bytes.load(&self.ranges)?;
        }
        for frame in &self.loaded {
            self.located.frames.push(location(&frame.header, frame.offset));
        }
        self.located.end = at;
        self.rest = Rest::Bytes { at, end, number };
        Ok(n_bytes)
    }

    /// Decodes the next of the loaded frames into `batch`, up to its capacity.
    fn decode(&mut self, batch: &mut FrameBatch) -> Result<()> {
        let loaded = std::mem::take(&mut self.loaded);
        let end = loaded.len().min(self.next + batch.capacity());
        let mut groups = loaded[self.next..end].chunks(LANES);
        let outcome = groups.try_for_each(|frames| self.decode_lanes(frames, batch));
        self.loaded = loaded;
        self.next = end;
        outcome
    }

    fn decode_lanes(&mut self, frames: &[Loaded], batch: &mut FrameBatch) -> Result<()> {
        let at = batch.len();
        for frame in frames {
            batch.push(frame_header(frame));
        }
        let mut coded = Vec::with_capacity(LANES);
        for (i, frame) in frames.iter().enumerate() {
            let place = frame.place.start + frame.header.header_len..frame.place.end + MARGIN;
            let data = &self.bytes.get_with_margin(frame.slot)[place];
            match &frame.header.storage {
                Storage::Plain => decode_plain(data, self.atoms, &mut batch.columns_mut(at + i)),
                Storage::Compressed(compression) => {
                    coded.push(Coded::new(compression, frame.header.n_atoms, data));
                }
            }
        }
        if coded.is_empty() {
            return Ok(());
        }
        let mut columns = batch.columns_from_mut(at).collect::<Vec<_>>();
        self.decoder.decode(&self.wanted, &coded, &mut columns, &mut self.ends);
        drop(coded);
        let ends = std::mem::take(&mut self.ends);
        for (i, (frame, end)) in frames.iter().zip(&ends).enumerate() {
            match end {
                Decoded::Whole(n) => self.needed = self.needed.max(frame.header.header_len as u64 + n),
                Decoded::NeedsMore => self.decode_again(frame, &mut batch.columns_mut(at + i))?,
                Decoded::Corrupt(fault) => {
                    let byte = frame.header.header_len as u64 + fault.byte;
                    return Err(self.error(frame, &Fault { byte, message: fault.message.clone() }));
                }
            }
        }
        self.ends = ends;
        self.check_in_full(frames, batch, at)
    }

    /// Compares the frames in `batch` from the `at`-th on with their headers. All of their atoms must have been
    /// decoded.
    fn check_in_full(&mut self, frames: &[Loaded], batch: &FrameBatch, at: usize) -> Result<()> {
        let Some(mut checks) = self.checks.take() else { return Ok(()) };
        let outcome = frames.iter().enumerate().try_for_each(|(i, frame)| {
            let Storage::Compressed(compression) = &frame.header.storage else { return Ok(()) };
            let start = frame.place.start + frame.header.header_len;
            let coded = &self.bytes.get(frame.slot)[start..start + compression.n_bytes as usize];
            let checked = checks.check(compression, frame.header.header_len, coded, batch.columns(at + i));
            checked.map_err(|fault| self.error(frame, &fault))
        });
        self.checks = Some(checks);
        outcome
    }

    /// Decodes a frame from all of its bytes, after too few of them were loaded.
    fn decode_again(&mut self, frame: &Loaded, columns: &mut ColumnsMut<'_>) -> Result<()> {
        let Storage::Compressed(compression) = &frame.header.storage else { return Ok(()) };
        let mut bytes = self.file.file.reader();
        let start = frame.offset + frame.header.header_len as u64;
        bytes.load(std::slice::from_ref(&(start..start + compression.n_bytes)))?;
        let coded = Coded::new(compression, frame.header.n_atoms, bytes.get_with_margin(0));
        let mut ends = Vec::new();
        self.decoder.decode(&self.wanted, &[coded], std::slice::from_mut(columns), &mut ends);
        bytes.confirm()?;
        match ends.pop() {
            Some(Decoded::Whole(n)) => {
                self.needed = self.needed.max(frame.header.header_len as u64 + n);
                Ok(())
            }
            Some(Decoded::Corrupt(fault)) => {
                let byte = frame.header.header_len as u64 + fault.byte;
                Err(self.error(frame, &Fault { byte, message: fault.message }))
            }
            Some(Decoded::NeedsMore) | None => Err(Error::worker("a whole frame cannot need more bytes")),
        }
    }
}

impl Reader for XtcReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        // After an error, frames may be left that were not decoded.
        self.loaded.clear();
        self.next = 0;
        self.rest = match extent {
            Extent::Frames(set) => {
                if let (FrameSet::Range { step: 1, .. }, Some(last)) = (set, set.last()) {
                    let end = self.file.located()?.index.range(last as usize);
                    self.bytes.expect_until(end.map_or(0, |range| range.end));
                }
                Rest::Frames { set: set.clone(), next: 0 }
            }
            Extent::Bytes(range) => {
                self.bytes.expect_until(range.end);
                let first = self.file.find_frame(range.clone())?;
                let at = first.unwrap_or(range.end);
                self.located = LocatedFrames { first, end: at, frames: Vec::new() };
                Rest::Bytes { at, end: range.end.min(self.file.file.len()), number: 0 }
            }
        };
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        let mut start = recorder.now();
        if self.next == self.loaded.len() {
            self.loaded.clear();
            self.next = 0;
            let loaded = match self.rest {
                Rest::Frames { .. } => self.load_listed(),
                Rest::Bytes { .. } => self.load_unlocated(),
            };
            // If the file is truncated during the load, headers look corrupt. The truncation is the better error
            // message.
            let n_bytes = loaded.or_else(|error| self.bytes.confirm().and(Err(error)))?;
            if self.loaded.is_empty() {
                return Ok(());
            }
            start = recorder.record(SpanKind::Read, start, self.loaded.len() as u64, n_bytes);
        }
        let first = self.next;
        let decoded = self.decode(batch);
        // If the file has been truncated, the loaded bytes may not be those of the file. Report the truncation in this
        // case, and not the corrupt data.
        self.bytes.confirm()?;
        decoded?;
        let n_bytes = self.loaded[first..self.next].iter().map(|frame| frame.place.len() as u64).sum();
        recorder.record(SpanKind::Decompress, start, batch.len() as u64, n_bytes);
        Ok(())
    }

    fn located(&mut self) -> LocatedFrames {
        std::mem::take(&mut self.located)
    }
}

fn frame_header(frame: &Loaded) -> FrameHeader {
    let nanometres = frame.header.box_vectors;
    let has_cell = nanometres.iter().flatten().any(|&v| v != 0.0);
    FrameHeader {
        index: frame.number,
        step: i64::from(frame.header.step),
        time: f64::from(frame.header.time),
        unit_cell: has_cell.then_some(UnitCell::Nanometres(nanometres)),
        lambda: None,
        present: Quantities::POSITIONS,
    }
}
