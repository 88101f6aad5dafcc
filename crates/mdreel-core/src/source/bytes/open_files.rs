//! A limit on open files. A trajectory of thousands of segments must not need thousands of open files.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::access::{self, Access};
use super::identity::{identity, times};
use super::map::FileMap;
use super::read_ahead;
use super::stamp::{Facts, Stamp};
use crate::error::{Error, Result};

/// Maximum number of files of one trajectory that stay open. Readers at work keep their files open beyond this limit.
const MOST: usize = 64;

/// The open files of a trajectory. Above the limit, it closes the file that was opened first.
#[derive(Debug)]
pub struct OpenFiles {
    limit: usize,
    queue: Mutex<VecDeque<Arc<Slot>>>,
}

impl Default for OpenFiles {
    /// Allows a quarter of the process limit, and at most 64 files.
    fn default() -> Self {
        OpenFiles::for_files(MOST)
    }
}

impl OpenFiles {
    /// Allows `n_files` open files, but at most a quarter of the process limit.
    pub fn for_files(n_files: usize) -> Self {
        // SAFETY: an all-zero rlimit is a valid value of this plain C structure, and the call fills it.
        #[cfg(unix)]
        let allowed = unsafe {
            let mut limit: libc::rlimit = std::mem::zeroed();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 { limit.rlim_cur } else { 0 }
        };
        // Windows has no limit that matters here.
        #[cfg(not(unix))]
        let allowed = u64::MAX;
        OpenFiles::with_limit(n_files.min(usize::try_from(allowed / 4).unwrap_or(n_files)))
    }

    /// Allows at most `limit` open files.
    pub(crate) fn with_limit(limit: usize) -> Self {
        OpenFiles { limit: limit.max(1), queue: Mutex::default() }
    }

    /// Records that the file in `slot` was opened, and closes another one if there are too many.
    fn enter(&self, slot: &Arc<Slot>) {
        let closed = {
            let mut queue = lock(&self.queue);
            queue.push_back(Arc::clone(slot));
            if queue.len() > self.limit { queue.pop_front() } else { None }
        };
        // The file is closed outside the lock, because unmapping takes time.
        let handle = closed.and_then(|slot| lock(&slot).take());
        drop(handle);
    }

    /// Records that the file in `slot` will not be used any more.
    pub(super) fn leave(&self, slot: &Arc<Slot>) {
        lock(&self.queue).retain(|other| !Arc::ptr_eq(other, slot));
    }
}

/// A place for a file, which may be open.
pub(super) type Slot = Mutex<Option<Arc<Handle>>>;

/// An open file.
#[derive(Debug)]
pub(super) struct Handle {
    pub file: File,
    len: u64,
    may_map: bool,
    map: OnceLock<Option<FileMap>>,
}

impl Handle {
    /// Opens `path` and also returns the metadata of the file.
    pub(crate) fn open(path: &Path, access: Access) -> Result<(Self, std::fs::Metadata)> {
        // The type is checked before opening, because opening a pipe would block until a writer appears.
        let kind = std::fs::metadata(path).map_err(|error| Error::io(path, error))?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            let message = "not a regular file; trajectories are read by position, not from pipes or devices";
            return Err(Error::unsupported(message).in_file(path));
        }
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let metadata = file.metadata().map_err(|error| Error::io(path, error))?;
        if metadata.is_dir() {
            return Err(Error::io(path, std::io::ErrorKind::IsADirectory.into()));
        }
        let may_map = match access {
            Access::Auto => metadata.is_file() && access::is_local(&file),
            Access::Map => true,
            Access::Read => false,
        };
        if !may_map && metadata.is_file() {
            read_ahead::expect_order(&file);
        }
        Ok((Handle { file, len: metadata.len(), may_map, map: OnceLock::new() }, metadata))
    }

    /// Returns the map of the file, which the first call creates. Returns `None` if the file is read instead.
    pub(crate) fn map(&self) -> Option<&FileMap> {
        let make = || if self.may_map { FileMap::new(&self.file, self.len) } else { None };
        self.map.get_or_init(make).as_ref()
    }
}

/// A file that is opened when it is needed, and may be closed when it is not.
#[derive(Debug)]
pub(super) struct Reopened {
    path: PathBuf,
    access: Access,
    /// The facts that the file system reported when the file was first opened.
    facts: OnceLock<Facts>,
    /// The stamp that another process took, if that process has opened the trajectory.
    stamp: Option<Stamp>,
    /// Size in bytes when the file was first opened.
    pub len: u64,
    slot: Arc<Slot>,
    open_files: Arc<OpenFiles>,
}

impl Reopened {
    pub(crate) fn new(path: &Path, access: Access, open_files: Arc<OpenFiles>) -> Result<Self> {
        let (handle, metadata) = Handle::open(path, access)?;
        let facts = facts_of(path, &handle, &metadata)?.into();
        let slot = Arc::new(Mutex::new(Some(Arc::new(handle))));
        open_files.enter(&slot);
        Ok(Reopened { path: path.to_owned(), access, facts, stamp: None, len: metadata.len(), slot, open_files })
    }

    /// Returns a file that another process has opened and stamped. This process opens it when it is first needed.
    pub(crate) fn stamped(path: &Path, access: Access, stamp: Stamp, open_files: Arc<OpenFiles>) -> Self {
        let (path, len) = (path.to_owned(), stamp.len);
        Reopened { path, access, facts: OnceLock::new(), stamp: Some(stamp), len, slot: Arc::default(), open_files }
    }

    /// Returns the facts that the file system reported when this process first opened the file; `None` before that.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.facts.get()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file. Returns an error if the name now belongs to another file.
    pub(crate) fn handle(&self) -> Result<Arc<Handle>> {
        let mut slot = lock(&self.slot);
        if let Some(handle) = &*slot {
            return Ok(Arc::clone(handle));
        }
        let (handle, metadata) = Handle::open(&self.path, self.access)?;
        let found = facts_of(&self.path, &handle, &metadata)?;
        let contradiction = match (self.facts.get(), &self.stamp) {
            (Some(known), _) if found.identity != known.identity => {
                Some("another file has this name since the trajectory was opened".to_owned())
            }
            (None, Some(stamp)) => stamp.contradiction(metadata.len(), &found),
            _ => None,
        };
        if let Some(message) = contradiction {
            return Err(Error::format(&self.path, None, None, message));
        }
        if metadata.len() < self.len {
            let found = format!("the file was cut while being read: it had {} bytes, now {}", self.len, metadata.len());
            return Err(Error::format(&self.path, None, Some(metadata.len()), found));
        }
        let handle = Arc::new(Handle { len: self.len, ..handle });
        self.facts.get_or_init(|| found);
        *slot = Some(Arc::clone(&handle));
        // `enter` may lock the slot of another file to close it. This slot must not be locked at that time.
        drop(slot);
        self.open_files.enter(&self.slot);
        Ok(handle)
    }
}

impl Drop for Reopened {
    fn drop(&mut self) {
        self.open_files.leave(&self.slot);
    }
}

fn facts_of(path: &Path, handle: &Handle, metadata: &std::fs::Metadata) -> Result<Facts> {
    let identity = identity(&handle.file, metadata).map_err(|error| Error::io(path, error))?;
    Ok(Facts { identity, times: times(metadata) })
}

/// Locks a mutex. Its data stays valid after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(n: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..n).map(|i| directory.path().join(i.to_string())).collect();
        paths.iter().for_each(|path| std::fs::write(path, path.to_str().unwrap()).unwrap());
        (directory, paths)
    }

    fn n_open(files: &[Reopened]) -> usize {
        files.iter().filter(|file| lock(&file.slot).is_some()).count()
    }

    #[test]
    fn files_are_closed_when_there_are_too_many_and_opened_again() {
        let (_directory, paths) = files(9);
        let open_files = Arc::new(OpenFiles::with_limit(3));
        let open = |path: &PathBuf| Reopened::new(path, Access::Auto, Arc::clone(&open_files)).unwrap();
        let files: Vec<_> = paths.iter().map(open).collect();
        assert_eq!(n_open(&files), 3);
        for file in files.iter().chain(&files) {
            let handle = file.handle().unwrap();
            assert_eq!(handle.map().unwrap().bytes()[..file.len as usize], *file.path.to_str().unwrap().as_bytes());
            assert!(n_open(&files) <= 3);
        }
        drop(files);
        assert!(lock(&open_files.queue).is_empty());
    }

    #[test]
    fn file_that_was_replaced_or_cut_is_an_error_when_it_is_opened_again() {
        let (_directory, paths) = files(3);
        let open_files = Arc::new(OpenFiles::with_limit(1));
        let open = |path: &PathBuf| Reopened::new(path, Access::Auto, Arc::clone(&open_files)).unwrap();
        let files: Vec<_> = paths.iter().map(open).collect();
        std::fs::write(&paths[0], "cut").unwrap();
        std::fs::rename(&paths[2], &paths[1]).unwrap();
        for (file, expected) in files.iter().zip(["the file was cut while being read", "another file has this name"]) {
            let message = file.handle().unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains(file.path.to_str().unwrap()), "{message}");
        }
    }
}
