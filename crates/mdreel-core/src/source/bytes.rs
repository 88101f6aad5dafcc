//! Access to ranges of bytes of a file. All sources read storage through this module.

mod access;
#[cfg(unix)]
mod bus_error;
mod external_reads;
mod identity;
#[cfg(unix)]
mod map;
#[cfg(not(unix))]
#[path = "bytes/no_map.rs"]
mod map;
mod open_files;
pub(crate) mod prefetch;
mod read_ahead;
mod reader;
mod remote;
mod stamp;
mod stamps;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::writer::positioned::read_exact_at;
use identity::times;
use open_files::{Handle, Reopened};
use stamp::Facts;

pub use access::Access;
pub(super) use access::is_local;
pub use external_reads::ExternalReads;
pub(super) use identity::identity_and_size;
pub use open_files::OpenFiles;
pub use reader::ByteReader;
pub use remote::{Fetch, RemoteFile};
pub use stamp::Stamp;
pub(super) use stamps::{StampQuery, Stamps};

/// Number of readable bytes after every range handed out. Their content is undefined. The margin lets bit readers load
/// whole words without a check. They must not read farther past the end of a range.
pub const MARGIN: usize = 64;

/// A file that is open for reading, shared by all workers.
#[derive(Debug)]
pub struct FileBytes {
    storage: Storage,
    /// The number of bytes that count, for a growing file.
    growing: Option<Arc<AtomicU64>>,
    /// The library that reads the ranges for the readers, if it is not this module.
    external: Option<Arc<dyn ExternalReads>>,
}

/// The place where a file is stored.
#[derive(Debug)]
enum Storage {
    /// A file system.
    Local(Reopened),
    /// A server behind a network.
    Remote(Arc<RemoteFile>),
}

impl FileBytes {
    /// Opens `path`. With [`Access::Auto`] and [`Access::Map`], the file is mapped if that is possible and safe.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        Self::open_among(path, access, Arc::default())
    }

    /// Opens `path` as one of many files, of which only some are open at a time.
    pub fn open_among(path: &Path, access: Access, open_files: Arc<OpenFiles>) -> Result<Self> {
        Ok(FileBytes::in_storage(Storage::Local(Reopened::new(path, access, open_files)?)))
    }

    /// Returns a file that another process has opened and stamped. This process opens it at the first read. Opening
    /// fails if this process sees a different file.
    pub fn stamped(path: &Path, access: Access, stamp: Stamp, open_files: Arc<OpenFiles>) -> Self {
        FileBytes::in_storage(Storage::Local(Reopened::stamped(path, access, stamp, open_files)))
    }

    fn in_storage(storage: Storage) -> Self {
        FileBytes { storage, growing: None, external: None }
    }

    /// Returns the same file. From then on, `reads` reads the byte ranges that readers load.
    #[must_use]
    pub fn read_by(self, reads: Arc<dyn ExternalReads>) -> Self {
        FileBytes { external: Some(reads), ..self }
    }

    /// Returns the stamp of the file. With it, another process notices that it sees a different file.
    pub fn stamp(&self) -> Stamp {
        let facts = self.identity().zip(self.times()).map(|(identity, times)| Facts { identity, times });
        Stamp::new(self.len(), facts, self.version().map(str::to_owned))
    }

    /// Checks that a remote file is the stamped one. A local file is checked when it is opened.
    pub(crate) fn check_remote(&self, stamp: &Stamp) -> Result<()> {
        if stamp.version.as_deref() == self.version() && stamp.len == self.len() {
            return Ok(());
        }
        let (found, told) = (self.version().unwrap_or("none"), stamp.version.as_deref().unwrap_or("none"));
        let message = format!("the server has another version ({found}, not {told}): it is not the same file");
        Err(Error::format(self.path(), None, None, message))
    }

    /// Opens the file if it is not open yet, and checks that it is still the file that was opened first.
    pub fn ensure_open(&self) -> Result<()> {
        match &self.storage {
            Storage::Local(file) => file.handle().map(drop),
            Storage::Remote(_) => Ok(()),
        }
    }

    /// Opens a growing file. Only its first `length` bytes count, and `length` may increase later. The file is read
    /// instead of mapped, because a map does not grow.
    pub(crate) fn growing(path: &Path, length: Arc<AtomicU64>) -> Result<Self> {
        Ok(FileBytes { growing: Some(length), ..Self::open(path, Access::Read)? })
    }

    /// Wraps a remote file.
    pub(crate) fn remote(file: impl Into<Arc<RemoteFile>>) -> Self {
        FileBytes::in_storage(Storage::Remote(file.into()))
    }

    /// Returns the version of a remote file, which distinguishes it from a later file with the same path and size.
    /// Returns `None` for a local file, which has a modification time instead.
    pub(crate) fn version(&self) -> Option<&str> {
        match &self.storage {
            Storage::Local(_) => None,
            Storage::Remote(file) => Some(file.version()),
        }
    }

    /// Returns the number of bytes received through the network, for a remote file.
    pub(crate) fn n_fetched(&self) -> Option<u64> {
        match &self.storage {
            Storage::Local(_) => None,
            Storage::Remote(file) => Some(file.n_fetched()),
        }
    }

    /// Returns the path of the file, or its URL.
    pub(crate) fn path(&self) -> &Path {
        match &self.storage {
            Storage::Local(file) => file.path(),
            Storage::Remote(file) => file.path(),
        }
    }

    /// Returns device and inode, which distinguish a file from another file with the same path.
    pub(crate) fn identity(&self) -> Option<(u64, u64)> {
        match &self.storage {
            Storage::Local(file) => file.facts().map(|facts| facts.identity),
            Storage::Remote(_) => None,
        }
    }

    /// Returns when a local file was last modified and last changed, in ns. The times are those at opening, or the
    /// current ones if the file grows. Programs can set the modification time but not the change time.
    pub(super) fn times(&self) -> Option<[u64; 2]> {
        match &self.storage {
            Storage::Local(file) if self.growing.is_some() => {
                file.handle().ok()?.file.metadata().ok().map(|facts| times(&facts))
            }
            Storage::Local(file) => file.facts().map(|facts| facts.times),
            Storage::Remote(_) => None,
        }
    }

    /// Returns the size of the file at opening in bytes. For a growing file, returns the number of bytes that count.
    pub fn len(&self) -> u64 {
        if let Some(length) = &self.growing {
            return length.load(Ordering::Acquire);
        }
        match &self.storage {
            Storage::Local(file) => file.len,
            Storage::Remote(file) => file.len(),
        }
    }

    /// Returns whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how the bytes of the file are accessed: [`Access::Map`] or [`Access::Read`].
    pub fn access(&self) -> Result<Access> {
        Ok(match &self.storage {
            Storage::Local(file) if file.handle()?.map().is_some() => Access::Map,
            _ => Access::Read,
        })
    }

    /// Reads exactly `range` into a new vector, for headers and other small ranges.
    pub fn read_vec(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.check(&range)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read_exact(&mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(crate) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        match &self.storage {
            Storage::Local(file) => self.read_from(&*file.handle()?, buffer, offset),
            Storage::Remote(file) => file.read_exact(buffer, offset),
        }
    }

    fn read_from(&self, handle: &Handle, buffer: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(&handle.file, buffer, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.ends_early(offset, offset.saturating_add(buffer.len() as u64)),
            _ => Error::io(self.path(), error),
        })
    }

    /// Creates a reader for one worker. Its first use must be on the thread that keeps using it.
    pub fn reader(&self) -> ByteReader<'_> {
        ByteReader::new(self)
    }

    /// Rejects ranges that the file cannot hold, before memory is allocated for them. The file may have grown since it
    /// was opened.
    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.start > range.end {
            return Err(Error::mismatch(format!(
                "a range of bytes ends ({}) before it starts ({})",
                range.end, range.start
            ))
            .in_file(self.path()));
        }
        if range.end > self.len() && range.end > self.size_now()? {
            return Err(self.ends_early(range.start, range.end));
        }
        Ok(())
    }

    /// Returns the current size of the file in bytes.
    pub(crate) fn size_now(&self) -> Result<u64> {
        match &self.storage {
            Storage::Local(file) => self.size_of(&*file.handle()?),
            Storage::Remote(file) => Ok(file.len()),
        }
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

    /// Returns the error for a map whose byte at `byte` could not be read.
    fn broken(&self, byte: u64) -> Error {
        let (byte, found) = match self.size_now() {
            Ok(size) if size < self.len() => (byte.max(size), format!("it had {} bytes, now {size}", self.len())),
            // A failing storage device looks the same to a map. A file may also have been truncated and written again.
            _ => (byte, "or its storage failed".to_owned()),
        };
        Error::format(self.path(), None, Some(byte), format!("the file was cut while being read: {found}"))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
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
