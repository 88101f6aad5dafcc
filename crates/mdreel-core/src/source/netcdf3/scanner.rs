//! Scanner of the header, which reads one element after another.

use super::version::Version;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Number of bytes to read at a time. Most headers are smaller.
const WINDOW: u64 = 4 << 10;

/// Maximum number of elements of a list of attributes, dimensions or variables. The limit bounds the memory that a
/// damaged file can make a reader allocate.
const MOST_ELEMENTS: u64 = 1 << 16;

/// Maximum number of bytes of a name.
const LONGEST_NAME: u64 = 1 << 12;

/// Scanner of the elements of a header, in their order.
#[derive(Debug)]
pub(super) struct HeaderScanner<'a> {
    file: &'a FileBytes,
    version: Version,
    window: Vec<u8>,
    window_start: u64,
    at: u64,
}

impl<'a> HeaderScanner<'a> {
    /// Creates a scanner, which reads the version and continues after it.
    pub(crate) fn new(file: &'a FileBytes) -> Result<Self> {
        let mut scanner = HeaderScanner { file, version: Version::Classic, window: Vec::new(), window_start: 0, at: 0 };
        let magic: [u8; 4] = scanner.take("the signature")?;
        scanner.version = match magic {
            [b'C', b'D', b'F', version] => Version::from_byte(version).ok_or_else(|| {
                scanner.error(
                    3,
                    format!(
                        "expected NetCDF of version 1, 2 or 5 (classic, 64-bit offset, 64-bit data), got {version}"
                    ),
                )
            })?,
            _ => return Err(scanner.error(0, format!("not a NetCDF file: expected CDF, got {magic:02x?}"))),
        };
        Ok(scanner)
    }

    /// Returns the version of the file.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns the position of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads a 32-bit number, which is the tag of a list or a type.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(what)?))
    }

    /// Reads a count, a length or the number of a dimension, with 32 bits, or 64 bits in CDF-5. Returns [`u64::MAX`] if
    /// all bits are set.
    fn size_or_all_ones(&mut self, what: &str) -> Result<u64> {
        if self.version.has_wide_sizes() {
            return Ok(u64::from_be_bytes(self.take(what)?));
        }
        let size = self.u32(what)?;
        Ok(if size == u32::MAX { u64::MAX } else { u64::from(size) })
    }

    /// Reads a count, a length or the number of a dimension, which must not be negative.
    pub(crate) fn size(&mut self, what: &str) -> Result<u64> {
        let at = self.at;
        let size = self.size_or_all_ones(what)?;
        let most = if self.version.has_wide_sizes() { i64::MAX as u64 } else { i32::MAX as u64 };
        if size > most {
            return Err(self.error(at, format!("expected {what} that is not negative, got {size:#x}")));
        }
        Ok(size)
    }

    /// Reads the number of records. Returns `None` if the writer left it open.
    pub(crate) fn n_records(&mut self) -> Result<Option<u64>> {
        let at = self.at;
        match self.size_or_all_ones("the number of records")? {
            u64::MAX => Ok(None),
            _ => {
                self.at = at;
                self.size("a number of records").map(Some)
            }
        }
    }

    /// Skips the size of a variable. The dimensions give the same information, and the size may be wrong if it is
    /// large.
    pub(crate) fn skip_variable_size(&mut self) -> Result<()> {
        self.size_or_all_ones("the size of a variable").map(drop)
    }

    /// Reads the position at which a variable begins.
    pub(crate) fn offset(&mut self, what: &str) -> Result<u64> {
        let at = self.at;
        let offset = match self.version {
            Version::Classic => u64::from(self.u32(what)?),
            _ => u64::from_be_bytes(self.take(what)?),
        };
        let most = if self.version == Version::Classic { i32::MAX as u64 } else { i64::MAX as u64 };
        if offset > most {
            return Err(self.error(at, format!("expected {what} that is not negative, got {offset:#x}")));
        }
        Ok(offset)
    }

    /// Reads the beginning of a list and returns its number of elements. An absent list has the tag 0 and no elements.
    pub(crate) fn list(&mut self, what: &str, tag: u32) -> Result<u64> {
        let at = self.at;
        let found = self.u32(what)?;
        let count = self.size(what)?;
        if found != tag && !(found == 0 && count == 0) {
            return Err(
                self.error(at, format!("{what}: expected the tag {tag} or an absent list, got {found} and {count}"))
            );
        }
        if count > MOST_ELEMENTS {
            return Err(self.error(at, format!("{what}: expected at most {MOST_ELEMENTS} elements, got {count}")));
        }
        Ok(count)
    }

    /// Reads a name.
    pub(crate) fn name(&mut self, what: &str) -> Result<String> {
        let at = self.at;
        let length = self.size(what)?;
        if length > LONGEST_NAME {
            return Err(self.error(at, format!("expected {what} of at most {LONGEST_NAME} bytes, got {length}")));
        }
        let name = String::from_utf8_lossy(self.bytes(what, length)?).into_owned();
        self.skip(what, padding(length))?;
        Ok(name)
    }

    /// Reads `length` bytes.
    pub(crate) fn bytes(&mut self, what: &str, length: u64) -> Result<&[u8]> {
        let end = self.end_of(what, length)?;
        if self.at < self.window_start || end > self.window_start + self.window.len() as u64 {
            let window = self.at..end.max(self.at + WINDOW).min(self.file.len());
            self.window = self.file.read_vec(window)?;
            self.window_start = self.at;
        }
        let start = (self.at - self.window_start) as usize;
        self.at = end;
        Ok(&self.window[start..start + length as usize])
    }

    /// Skips `length` bytes.
    pub(crate) fn skip(&mut self, what: &str, length: u64) -> Result<()> {
        self.at = self.end_of(what, length)?;
        Ok(())
    }

    /// Returns an error at byte `at`.
    pub(crate) fn error(&self, at: u64, message: String) -> Error {
        Error::format(self.file.path(), None, Some(at), message)
    }

    fn end_of(&self, what: &str, length: u64) -> Result<u64> {
        self.at.checked_add(length).filter(|&end| end <= self.file.len()).ok_or_else(|| {
            let len = self.file.len();
            self.error(self.at, format!("{what}: expected {length} bytes of the header, but the file has {len} in all"))
        })
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.bytes(what, N as u64)?);
        Ok(taken)
    }
}

/// Returns the number of bytes that fill the last word of four bytes.
pub(super) fn padding(length: u64) -> u64 {
    length.wrapping_neg() % 4
}
