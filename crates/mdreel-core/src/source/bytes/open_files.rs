//! Open files: a trajectory of thousands of segments must not need as many open files.

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

/// Files of one trajectory that stay open at a time, at most. Readers at work keep theirs beyond that.
const MOST: usize = 64;

/// Which files of a trajectory are open: the one that was opened first is closed when there are too many.
#[derive(Debug)]
pub struct OpenFiles {
    limit: usize,
    queue: Mutex<VecDeque<Arc<Slot>>>,
}

impl Default for OpenFiles {
    /// A quarter of the limit of the process, and at most 64.
    fn default() -> Self {
        OpenFiles::for_files(MOST)
    }
}

impl OpenFiles {
    /// Keeps up to `n_files` open, and no more than a quarter of the files that the process may open.
    pub fn for_files(n_files: usize) -> Self {
        // SAFETY: an all-zero rlimit is a valid value of that plain C structure, which the call fills.
        #[cfg(unix)]
        let allowed = unsafe {
            let mut limit: libc::rlimit = std::mem::zeroed();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 { limit.rlim_cur } else { 0 }
        };
        // Windows has no limit that a process meets.
        #[cfg(not(unix))]
        let allowed = u64::MAX;
        OpenFiles::with_limit(n_files.min(usize::try_from(allowed / 4).unwrap_or(n_files)))
    }

    /// At most `limit` files at a time.
    pub(crate) fn with_limit(limit: usize) -> Self {
        OpenFiles { limit: limit.max(1), queue: Mutex::default() }
    }

    /// Takes note that the file in `slot` was opened, and closes another if there are too many.
    fn enter(&self, slot: &Arc<Slot>) {
        let closed = {
            let mut queue = lock(&self.queue);
            queue.push_back(Arc::clone(slot));
            if queue.len() > self.limit { queue.pop_front() } else { None }
        };
        // Outside the lock: unmapping takes time.
        let handle = closed.and_then(|slot| lock(&slot).take());
        drop(handle);
    }

    /// Takes note that the file in `slot` will not be used any more.
    pub(super) fn leave(&self, slot: &Arc<Slot>) {
        lock(&self.queue).retain(|other| !Arc::ptr_eq(other, slot));
    }
}

/// A place for a file that may be open.
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
    /// Opens `path`; also returns the metadata of the file.
    pub(crate) fn open(path: &Path, access: Access) -> Result<(Self, std::fs::Metadata)> {
        // Asked before it is opened: a pipe would keep its reader waiting for a writer.
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

    /// The map of the file, made when it is first asked for; `None` where it is read instead.
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
    /// What the system said of it as it was first opened.
    facts: OnceLock<Facts>,
    /// What another process saw of it, if that process has opened the trajectory.
    stamp: Option<Stamp>,
    /// Size when it was first opened.
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

    /// A file that another process has opened and stamped: it is opened here when it is first needed.
    pub(crate) fn stamped(path: &Path, access: Access, stamp: Stamp, open_files: Arc<OpenFiles>) -> Self {
        let (path, len) = (path.to_owned(), stamp.len);
        Reopened { path, access, facts: OnceLock::new(), stamp: Some(stamp), len, slot: Arc::default(), open_files }
    }

    /// What the system said of the file as it was first opened here; `None` before that.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.facts.get()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file. Returns an error if another file has its name by now.
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
        // Entering may close another file, whose slot is then locked: never while this one is.
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

/// The guarded data is also valid after a panic.
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
