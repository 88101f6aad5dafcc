//! Positions of frames in the file and of records in a frame.

use super::cell::CELL_BYTES;
use super::header::Header;
use super::record::RecordFormat;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Where the parts of a frame are, in bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameLayout {
    /// The six numbers of the unit cell.
    pub cell: Option<u64>,
    /// The first x, y and z.
    pub columns: [u64; 3],
    /// Record markers with their required lengths.
    pub markers: Vec<(u64, u64)>,
    /// Bytes of the frame.
    pub len: u64,
}

impl FrameLayout {
    fn new(header: &Header, n_atoms: u64) -> Self {
        let marker_bytes = header.format.marker_bytes as u64;
        let mut markers = Vec::new();
        let mut at = 0;
        let mut record = |length: u64| {
            let content = at + marker_bytes;
            markers.extend([(at, length), (content + length, length)]);
            at = content + length + marker_bytes;
            content
        };
        let cell = header.has_unit_cell.then(|| record(CELL_BYTES));
        let columns = [(); 3].map(|()| record(4 * n_atoms));
        if header.has_fourth_dimension {
            record(4 * n_atoms);
        }
        FrameLayout { cell, columns, markers, len: at }
    }
}

/// Where the frames of a file are.
#[derive(Debug)]
pub(super) struct Layout {
    /// The first frame, which has all atoms.
    pub first: FrameLayout,
    /// Any later frame, which lacks the atoms that are fixed.
    pub later: FrameLayout,
    start: u64,
}

impl Layout {
    /// Where frames are, according to the header.
    pub(crate) fn new(header: &Header) -> Self {
        let n_free = header.free_atoms.as_ref().map_or(header.n_atoms, Vec::len);
        let first = FrameLayout::new(header, header.n_atoms as u64);
        let later = FrameLayout::new(header, n_free as u64);
        Layout { first, later, start: header.end }
    }

    /// Checks whether the ends of `file` are sound.
    pub(crate) fn check_ends(&self, file: &FileBytes, header: &Header) -> Result<()> {
        // In this order: a wrong number of atoms shows in the first frame, and makes the last one look incomplete.
        self.check_first_frame(file, header.format)?;
        if self.n_frames(file) == 0 {
            self.check_last_frame(file, header.n_frames_counted)?;
        }
        Ok(())
    }

    /// Whole frames of a file of `n_bytes` bytes, and the bytes behind them.
    fn count(&self, n_bytes: u64) -> (u64, u64) {
        let bytes = n_bytes.saturating_sub(self.start);
        match bytes.checked_sub(self.first.len) {
            Some(bytes) => (1 + bytes / self.later.len, bytes % self.later.len),
            None => (0, bytes),
        }
    }

    /// Checks that records of the first frame are where the header lets expect them.
    fn check_first_frame(&self, file: &FileBytes, format: RecordFormat) -> Result<()> {
        let is_there = |at: u64| self.start + at + format.marker_bytes as u64 <= file.len();
        self.first.markers.iter().filter(|(at, _)| is_there(*at)).try_for_each(|&(at, expected)| {
            let mut marker = [0; 8];
            file.read_exact(&mut marker[..format.marker_bytes], self.start + at)?;
            check_marker(file, 0, self.start + at, format.length(&marker), expected)
        })
    }

    /// Checks that the last frame is complete, or one that the header does not count yet.
    pub(crate) fn check_last_frame(&self, file: &FileBytes, n_frames_counted: i32) -> Result<()> {
        let (n_frames, rest) = self.count(file.len());
        let is_counted = n_frames > 0 && i64::from(n_frames_counted) == n_frames as i64;
        if rest == 0 || is_counted {
            return Ok(());
        }
        let expected = if n_frames == 0 { self.first.len } else { self.later.len };
        Err(Error::format(
            file.path(),
            Some(n_frames),
            Some(self.offset(n_frames)),
            format!(
                "the last frame is torn: it needs {expected} bytes, but the file ends after {rest}; {n_frames} whole \
                 frames come before it (to use them, read only these frames), the header counts {n_frames_counted}"
            ),
        ))
    }

    /// Number of complete frames of `file`.
    pub(crate) fn n_frames(&self, file: &FileBytes) -> u64 {
        self.count(file.len()).0
    }

    /// Bytes behind the last complete frame of `file`.
    pub(crate) fn rest(&self, file: &FileBytes) -> u64 {
        self.count(file.len()).1
    }

    /// Where the parts of a frame are.
    pub(crate) fn frame(&self, frame: u64) -> &FrameLayout {
        if frame == 0 { &self.first } else { &self.later }
    }

    /// Where a frame begins.
    pub(crate) fn offset(&self, frame: u64) -> u64 {
        match frame {
            0 => self.start,
            _ => self.start + self.first.len + (frame - 1) * self.later.len,
        }
    }
}

/// Checks the record marker at byte `at`.
pub(super) fn check_marker(file: &FileBytes, frame: u64, at: u64, got: u64, expected: u64) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    let message = format!("corrupt frame: expected a record marker of {expected}, got {got}");
    Err(Error::format(file.path(), Some(frame), Some(at), message))
}
