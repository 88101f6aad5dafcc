//! Scanner of the header, one element after another.

use super::version::Version;
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Bytes that are read at a time; most headers are smaller.
const WINDOW: u64 = 4 << 10;

/// Elements that no header has more of: attributes of a variable, dimensions, variables. It bounds what a damaged file
/// can make a reader take.
const MOST_ELEMENTS: u64 = 1 << 16;

/// A name longer than this is none.
const LONGEST_NAME: u64 = 1 << 12;

/// Reads the elements of a header in their order.
#[derive(Debug)]
pub(super) struct HeaderScanner<'a> {
    file: &'a FileBytes,
    version: Version,
    window: Vec<u8>,
    window_start: u64,
    at: u64,
}

impl<'a> HeaderScanner<'a> {
    /// Finds out the version; goes on behind it.
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

    /// The file's version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// A 32-bit number: the tag of a list, or a type.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(what)?))
    }

    /// A count, length or number of a dimension: 32 bits, or 64 in CDF-5. All bits set stand for [`u64::MAX`].
    fn size_or_all_ones(&mut self, what: &str) -> Result<u64> {
        if self.version.has_wide_sizes() {
            return Ok(u64::from_be_bytes(self.take(what)?));
        }
        let size = self.u32(what)?;
        Ok(if size == u32::MAX { u64::MAX } else { u64::from(size) })
    }

    /// A count, length or number of a dimension, which may not be negative.
    pub(crate) fn size(&mut self, what: &str) -> Result<u64> {
        let at = self.at;
        let size = self.size_or_all_ones(what)?;
        let most = if self.version.has_wide_sizes() { i64::MAX as u64 } else { i32::MAX as u64 };
        if size > most {
            return Err(self.error(at, format!("expected {what} that is not negative, got {size:#x}")));
        }
        Ok(size)
    }

    /// The number of records; `None` where its writer left it open.
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

    /// The size of a variable, which says nothing that its dimensions do not, and may be wrong where it is large.
    pub(crate) fn skip_variable_size(&mut self) -> Result<()> {
        self.size_or_all_ones("the size of a variable").map(drop)
    }

    /// Where a variable begins.
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

    /// The beginning of a list: how many elements it has. An absent list has the tag 0 and no elements.
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

    /// A name.
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

    /// `length` bytes.
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

    /// Passes over `length` bytes.
    pub(crate) fn skip(&mut self, what: &str, length: u64) -> Result<()> {
        self.at = self.end_of(what, length)?;
        Ok(())
    }

    /// An error at byte `at`.
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

/// Bytes that fill the last word of four bytes.
pub(super) fn padding(length: u64) -> u64 {
    length.wrapping_neg() % 4
}
