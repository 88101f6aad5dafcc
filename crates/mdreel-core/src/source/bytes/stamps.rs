//! File system facts about many files. With them, a later run notices that one of the files has changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::identity::{identity_and_metadata, times};
use super::stamp::{Facts, Stamp, machine};

/// Number of files that a thread takes from the list at a time.
const AT_ONCE: usize = 64;
/// Age in ns from which any later change of a file alters its times. No common file system has coarser timestamps.
const SETTLED_NS: u64 = 2_000_000_000;

/// Facts about several files, as seen on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::source) struct Stamps {
    machine: Option<Arc<str>>,
    files: Vec<Seen>,
}

/// Facts about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// Size in bytes.
    len: u64,
    facts: Facts,
}

/// A query of files, which runs on other threads until its result is taken. Files are not opened.
#[derive(Debug)]
pub(in crate::source) struct StampQuery {
    listed: Arc<Listed>,
    threads: Vec<JoinHandle<Vec<Chunk>>>,
}

/// The number of the first file of a chunk, and the files up to one that is missing or not a regular file.
type Chunk = (usize, Vec<Seen>);

#[derive(Debug)]
struct Listed {
    paths: Vec<PathBuf>,
    /// The first file that no thread has taken.
    next: AtomicUsize,
}

impl Listed {
    fn look(&self) -> Vec<Chunk> {
        let mut found = Vec::new();
        loop {
            let start = self.next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let Some(rest) = self.paths.get(start..).filter(|rest| !rest.is_empty()) else { return found };
            found.push((start, rest.iter().take(AT_ONCE).map_while(|path| Seen::of(path)).collect()));
        }
    }
}

impl StampQuery {
    /// Starts to query files, on one thread less than there are cores, but at least on one.
    pub(in crate::source) fn start(paths: Vec<PathBuf>) -> Self {
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let n_threads = (n_cores - 1).clamp(1, paths.len().div_ceil(AT_ONCE).max(1));
        let listed = Arc::new(Listed { paths, next: AtomicUsize::new(0) });
        let start = |_| {
            let listed = Arc::clone(&listed);
            thread::Builder::new().name("mdreel-stat".into()).spawn(move || listed.look()).ok()
        };
        let threads = (0..n_threads).filter_map(start).collect();
        StampQuery { listed, threads }
    }

    /// Waits for the stamps. The calling thread helps. Returns `None` if one of the paths is missing or not a regular
    /// file.
    pub(in crate::source) fn stamps(mut self) -> Option<Stamps> {
        let mut found = self.listed.look();
        for thread in self.threads.drain(..) {
            // If a thread failed, its files are missing, which the length check below notices.
            found.extend(thread.join().unwrap_or_default());
        }
        found.sort_unstable_by_key(|&(start, _)| start);
        let files: Vec<_> = found.into_iter().flat_map(|(_, seen)| seen).collect();
        (files.len() == self.listed.paths.len()).then(|| Stamps { machine: machine(), files })
    }
}

impl Drop for StampQuery {
    fn drop(&mut self) {
        // The threads of a query whose result nobody takes end soon.
        self.listed.next.store(self.listed.paths.len(), Ordering::Relaxed);
    }
}

impl Stamps {
    /// Returns whether the files were seen on this machine since it was started.
    pub(in crate::source) fn are_of_this_machine(&self) -> bool {
        self.machine.is_some() && self.machine == machine()
    }

    /// Returns the number of files.
    pub(in crate::source) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the size of the `i`-th file in bytes.
    pub(in crate::source) fn n_bytes(&self, i: usize) -> u64 {
        self.files[i].len
    }

    /// Returns the stamp of the `i`-th file.
    pub(in crate::source) fn get(&self, i: usize) -> Stamp {
        let Seen { len, facts } = self.files[i];
        Stamp::seen_on(self.machine.clone(), len, facts)
    }

    /// Returns whether `stamps` describe the same files, as far as their facts tell.
    pub(in crate::source) fn agree<'a>(&self, stamps: impl ExactSizeIterator<Item = &'a Stamp>) -> bool {
        let is_same = |(seen, stamp): (&Seen, &Stamp)| {
            seen.len == stamp.len && stamp.facts.is_some_and(|facts| seen.is_of(&facts))
        };
        stamps.len() == self.files.len() && self.files.iter().zip(stamps).all(is_same)
    }

    /// Returns whether `self` describes the same files as `earlier`, unchanged since then.
    pub(in crate::source) fn are_unchanged(&self, earlier: &Stamps) -> bool {
        let is_same = |(now, then): (&Seen, &Seen)| now.len == then.len && now.is_of(&then.facts);
        self.files.len() == earlier.files.len() && self.files.iter().zip(&earlier.files).all(is_same)
    }

    /// Returns whether any later change of a file will show in its times. This is so once all times are older than the
    /// resolution of file systems.
    pub(in crate::source) fn are_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let is_old = |time: u64| time.saturating_add(SETTLED_NS) <= now;
        self.files.iter().all(|seen| seen.facts.times.into_iter().all(is_old))
    }
}

impl Seen {
    fn of(path: &Path) -> Option<Self> {
        let (identity, metadata) = identity_and_metadata(path).ok()?;
        metadata.is_file().then(|| Seen { len: metadata.len(), facts: Facts { identity, times: times(&metadata) } })
    }

    /// Returns whether inode and times of the file are the same. The device number is ignored: the same file system may
    /// have another one on another machine, or after a reboot.
    fn is_of(&self, facts: &Facts) -> bool {
        self.facts.identity.1 == facts.identity.1 && self.facts.times == facts.times
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn stamps(paths: &[PathBuf]) -> Option<Stamps> {
        StampQuery::start(paths.to_vec()).stamps()
    }

    #[test]
    fn files_are_seen_in_their_order_and_changes_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..3 * AT_ONCE + 5).map(|i| folder.path().join(i.to_string())).collect();
        for (i, path) in paths.iter().enumerate() {
            fs::write(path, vec![0; i]).unwrap();
        }
        let seen = stamps(&paths).unwrap();
        assert_eq!(seen.len(), paths.len());
        assert!((0..paths.len()).all(|i| seen.get(i).len == i as u64));
        let each: Vec<_> = (0..paths.len()).map(|i| seen.get(i)).collect();
        assert!(seen.agree(each.iter()) && !seen.agree(each[1..].iter()));
        assert!(seen.are_unchanged(&stamps(&paths).unwrap()));
        let early = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
        File::options().append(true).open(&paths[100]).unwrap().set_modified(early).unwrap();
        let later = stamps(&paths).unwrap();
        assert!(!later.are_unchanged(&seen) && !later.agree(each.iter()));
        fs::remove_file(&paths[AT_ONCE]).unwrap();
        assert_eq!(stamps(&paths), None);
        fs::create_dir(&paths[AT_ONCE]).unwrap();
        assert_eq!(stamps(&paths), None);
    }

    #[test]
    fn files_settle_when_both_their_times_are_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        fs::write(&path, "new").unwrap();
        let mut seen = stamps(&[path]).unwrap();
        assert!(!seen.are_settled());
        seen.files[0].facts.times[0] = 0;
        assert!(!seen.are_settled());
        seen.files[0].facts.times[1] = 0;
        assert!(seen.are_settled());
    }
}
