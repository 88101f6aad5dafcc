//! Fortran records, whose content is enclosed by two markers with its length.

use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Byte order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// Format of the records, which depends on the compiler of the program that wrote the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFormat {
    /// Byte order of all numbers.
    pub order: ByteOrder,
    /// Number of bytes of a record marker: 4, or 8 for some compilers for 64-bit systems.
    pub marker_bytes: usize,
}

impl RecordFormat {
    /// All supported formats.
    pub(crate) const ALL: [RecordFormat; 4] = [
        RecordFormat { order: ByteOrder::Little, marker_bytes: 4 },
        RecordFormat { order: ByteOrder::Big, marker_bytes: 4 },
        RecordFormat { order: ByteOrder::Little, marker_bytes: 8 },
        RecordFormat { order: ByteOrder::Big, marker_bytes: 8 },
    ];

    /// Returns whether the bytes of the file's numbers must be swapped on this machine.
    pub(crate) fn is_foreign(self) -> bool {
        (self.order == ByteOrder::Big) != cfg!(target_endian = "big")
    }

    /// Returns the marker of a record of `length` bytes.
    pub(crate) fn marker(self, length: u64) -> Vec<u8> {
        let little = length.to_le_bytes();
        let marker = &little[..self.marker_bytes];
        match self.order {
            ByteOrder::Little => marker.to_vec(),
            ByteOrder::Big => marker.iter().rev().copied().collect(),
        }
    }

    /// Returns the length in the marker at the beginning of `bytes`.
    pub(super) fn length(self, bytes: &[u8]) -> u64 {
        match self.marker_bytes {
            4 => u64::from(self.u32(bytes)),
            _ => u64::from_ne_bytes(self.native(bytes)),
        }
    }

    /// Returns the integer at the beginning of `bytes`.
    pub(super) fn i32(self, bytes: &[u8]) -> i32 {
        self.u32(bytes) as i32
    }

    /// Returns the unsigned integer at the beginning of `bytes`.
    pub(super) fn u32(self, bytes: &[u8]) -> u32 {
        u32::from_ne_bytes(self.native(bytes))
    }

    /// Returns the single-precision number at the beginning of `bytes`.
    pub(super) fn f32(self, bytes: &[u8]) -> f32 {
        f32::from_ne_bytes(self.native(bytes))
    }

    /// Returns the double-precision number at the beginning of `bytes`.
    pub(super) fn f64(self, bytes: &[u8]) -> f64 {
        f64::from_ne_bytes(self.native(bytes))
    }

    fn native<const N: usize>(self, bytes: &[u8]) -> [u8; N] {
        let mut native = [0; N];
        native.copy_from_slice(&bytes[..N]);
        if self.is_foreign() {
            native.reverse();
        }
        native
    }
}

/// Scanner of the records of a file from its beginning. The scanner compares each length in the file with the size of
/// the file before it uses the length.
#[derive(Debug)]
pub(super) struct RecordScanner<'a> {
    file: &'a FileBytes,
    format: RecordFormat,
    at: u64,
}

impl<'a> RecordScanner<'a> {
    /// Creates a scanner at the beginning of `file`.
    pub(crate) fn new(file: &'a FileBytes, format: RecordFormat) -> Self {
        RecordScanner { file, format, at: 0 }
    }

    /// Returns the format of the records.
    pub(crate) fn format(&self) -> RecordFormat {
        self.format
    }

    /// Returns the position at which the next record begins.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads the content of the next record, which must have `length` bytes. Returns the position of the content
    /// and the content itself.
    pub(crate) fn read(&mut self, what: &str, length: u64) -> Result<(u64, Vec<u8>)> {
        let start = self.at;
        let (content, claimed) = self.enter(what)?;
        if claimed != length {
            return Err(self.error(start, format!("{what}: expected a record of {length} bytes, got {claimed}")));
        }
        self.leave(what, content, length)?;
        Ok((content, self.file.read_vec(content..content + length)?))
    }

    /// Skips the next record, which contains a count and as many lines of `line_bytes` bytes. Some writers store three
    /// lines between markers for two lines, as MDAnalysis once did. In this case, the count decides.
    pub(crate) fn skip_lines(&mut self, what: &str, line_bytes: u64) -> Result<()> {
        let (content, length) = self.enter(what)?;
        let Err(error) = self.leave(what, content, length) else { return Ok(()) };
        let mut n_lines = [0; 4];
        if content + 4 > self.file.len() {
            return Err(error);
        }
        self.file.read_exact(&mut n_lines, content)?;
        let counted = 4 + u64::from(self.format.u32(&n_lines)) * line_bytes;
        match self.read_marker(what, content + counted) {
            Ok(again) if again == length => self.at = content + counted + self.format.marker_bytes as u64,
            _ => return Err(error),
        }
        Ok(())
    }

    /// Reads the marker before the content. Returns the position of the content and the length in the marker.
    fn enter(&mut self, what: &str) -> Result<(u64, u64)> {
        let length = self.read_marker(what, self.at)?;
        Ok((self.at + self.format.marker_bytes as u64, length))
    }

    /// Checks the marker after the content.
    fn leave(&mut self, what: &str, content: u64, length: u64) -> Result<()> {
        let behind = content.saturating_add(length);
        let again = self.read_marker(what, behind)?;
        if again != length {
            return Err(self.error(
                behind,
                format!("{what}: the record begins with a length of {length} and ends with {again} bytes"),
            ));
        }
        self.at = behind + self.format.marker_bytes as u64;
        Ok(())
    }

    fn read_marker(&self, what: &str, at: u64) -> Result<u64> {
        let mut marker = [0; 8];
        let marker = &mut marker[..self.format.marker_bytes];
        if at.checked_add(marker.len() as u64).is_none_or(|end| end > self.file.len()) {
            return Err(self.error(
                at,
                format!("{what}: expected a record marker here, but the file has {} bytes", self.file.len()),
            ));
        }
        self.file.read_exact(marker, at)?;
        Ok(self.format.length(marker))
    }

    fn error(&self, at: u64, message: String) -> Error {
        Error::format(self.file.path(), None, Some(at), message)
    }
}
