//! Positions of frames in the file and of records in a frame.

use super::cell::CELL_BYTES;
use super::header::Header;
use super::record::RecordFormat;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Positions of the parts of a frame, in bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameLayout {
    /// Position of the six numbers of the unit cell.
    pub cell: Option<u64>,
    /// Positions of the first x, y and z.
    pub columns: [u64; 3],
    /// Positions of the record markers and the lengths that they must contain.
    pub markers: Vec<(u64, u64)>,
    /// Number of bytes of the frame.
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

/// Positions of the frames of a file.
#[derive(Debug)]
pub(super) struct Layout {
    /// Layout of the first frame, which contains all atoms.
    pub first: FrameLayout,
    /// Layout of all later frames, which lack the fixed atoms.
    pub later: FrameLayout,
    start: u64,
}

impl Layout {
    /// Determines the positions of the frames from the header.
    pub(crate) fn new(header: &Header) -> Self {
        let n_free = header.free_atoms.as_ref().map_or(header.n_atoms, Vec::len);
        let first = FrameLayout::new(header, header.n_atoms as u64);
        let later = FrameLayout::new(header, n_free as u64);
        Layout { first, later, start: header.end }
    }

    /// Checks the first frame of `file`, and the last one if no frame is complete.
    pub(crate) fn check_ends(&self, file: &FileBytes, header: &Header) -> Result<()> {
        // The order matters: a wrong number of atoms is an error in the first frame, and makes the last one look
        // incomplete.
        self.check_first_frame(file, header.format)?;
        if self.n_frames(file) == 0 {
            self.check_last_frame(file, header.n_frames_counted)?;
        }
        Ok(())
    }

    /// Returns the number of complete frames in a file of `n_bytes` bytes, and the number of bytes after them.
    fn count(&self, n_bytes: u64) -> (u64, u64) {
        let bytes = n_bytes.saturating_sub(self.start);
        match bytes.checked_sub(self.first.len) {
            Some(bytes) => (1 + bytes / self.later.len, bytes % self.later.len),
            None => (0, bytes),
        }
    }

    /// Checks that the records of the first frame are at the positions that follow from the header.
    fn check_first_frame(&self, file: &FileBytes, format: RecordFormat) -> Result<()> {
        let is_there = |at: u64| self.start + at + format.marker_bytes as u64 <= file.len();
        self.first.markers.iter().filter(|(at, _)| is_there(*at)).try_for_each(|&(at, expected)| {
            let mut marker = [0; 8];
            file.read_exact(&mut marker[..format.marker_bytes], self.start + at)?;
            check_marker(file, 0, self.start + at, format.length(&marker), expected)
        })
    }

    /// Checks that the last frame is complete, or that the header does not count it yet.
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

    /// Returns the number of complete frames of `file`.
    pub(crate) fn n_frames(&self, file: &FileBytes) -> u64 {
        self.count(file.len()).0
    }

    /// Returns the number of bytes after the last complete frame of `file`.
    pub(crate) fn rest(&self, file: &FileBytes) -> u64 {
        self.count(file.len()).1
    }

    /// Returns the positions of the parts of a frame.
    pub(crate) fn frame(&self, frame: u64) -> &FrameLayout {
        if frame == 0 { &self.first } else { &self.later }
    }

    /// Returns the position at which a frame begins.
    pub(crate) fn offset(&self, frame: u64) -> u64 {
        match frame {
            0 => self.start,
            _ => self.start + self.first.len + (frame - 1) * self.later.len,
        }
    }
}

/// Checks the record marker at byte `at`, which has the value `got`.
pub(super) fn check_marker(file: &FileBytes, frame: u64, at: u64, got: u64, expected: u64) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    let message = format!("corrupt frame: expected a record marker of {expected}, got {got}");
    Err(Error::format(file.path(), Some(frame), Some(at), message))
}
