//! File system facts about many files. With them, a later run notices that one of the files has changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
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

impl Stamps {
    /// Queries files without opening them, on several threads. Returns no stamps if one of the paths is missing or not
    /// a regular file. The calling thread runs `meanwhile` first.
    pub(in crate::source) fn of<T>(paths: &[&Path], meanwhile: impl FnOnce() -> T) -> (Option<Self>, T) {
        let next = AtomicUsize::new(0);
        let look = || {
            let mut found = Vec::new();
            loop {
                let start = next.fetch_add(AT_ONCE, Ordering::Relaxed);
                let Some(rest) = paths.get(start..).filter(|rest| !rest.is_empty()) else { return found };
                let seen: Vec<_> = rest.iter().take(AT_ONCE).map_while(|path| Seen::of(path)).collect();
                found.push((start, seen));
            }
        };
        let n_threads = thread::available_parallelism().map_or(1, usize::from).min(paths.len().div_ceil(AT_ONCE));
        let (mut found, other) = thread::scope(|scope| {
            let start = |_| thread::Builder::new().spawn_scoped(scope, look).ok();
            let others: Vec<_> = (1..n_threads).filter_map(start).collect();
            let other = meanwhile();
            let mut found = look();
            // If a thread failed, its files are missing, which the length check below notices.
            others.into_iter().filter_map(|thread| thread.join().ok()).for_each(|more| found.extend(more));
            (found, other)
        });
        found.sort_unstable_by_key(|&(start, _)| start);
        let files: Vec<_> = found.into_iter().flat_map(|(_, seen)| seen).collect();
        let stamps = Stamps { machine: machine(), files };
        ((stamps.files.len() == paths.len()).then_some(stamps), other)
    }

    /// Returns the number of files.
    pub(in crate::source) fn len(&self) -> usize {
        self.files.len()
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

    fn stamps(paths: &[std::path::PathBuf]) -> Option<Stamps> {
        let paths: Vec<_> = paths.iter().map(std::path::PathBuf::as_path).collect();
        let (stamps, other) = Stamps::of(&paths, || 7);
        assert_eq!(other, 7);
        stamps
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
