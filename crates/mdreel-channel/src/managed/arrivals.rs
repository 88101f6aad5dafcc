//! The files of a directory, in the order of their arrival.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alarm::Alarm;
use super::names::is_visible;
use super::order::compare;
use super::part::names;
use super::shared::{Shared, open_published};
use super::waiting::{Outcome, Patience, wait};
use crate::end::End;
use mdreel_core::error::{Error, Result};

/// The time for which a directory may have changed without a new modification time. The clock of a file system advances in steps.
const STEP: Duration = Duration::from_secs(2);
/// The longest time between two listings of a directory, whatever its modification time is. File servers have other clocks than
/// this machine.
const LOOK: Duration = Duration::from_secs(1);

/// The order in which files that are present at the same time are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By time of publication, as far as the times of the file system show it; otherwise by name.
    Published,
    /// By name, with numbers in names compared as numbers.
    Name,
}

/// The next file, or the end.
#[derive(Debug)]
pub enum Next {
    /// A file: its name, and the open file.
    File(OsString, File),
    /// No more files will come.
    End(End),
}

/// Properties that distinguish a file from another one that later gets its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    inode: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(facts: &Metadata) -> Self {
        Identity { inode: facts.ino(), modified: (facts.mtime(), facts.mtime_nsec()) }
    }
}

/// A file found in a directory.
#[derive(Debug)]
struct Found {
    name: OsString,
    identity: Identity,
    /// The time at which it got its name.
    published: (i64, i64),
}

impl Found {
    fn of(directory: &Path, name: OsString) -> Option<Self> {
        // A file that has been removed in the meantime does not count.
        let facts = is_visible(name.as_bytes()).then(|| directory.join(&name).metadata().ok())??;
        let published = (facts.ctime(), facts.ctime_nsec());
        facts.is_file().then(|| Found { name, identity: Identity::of(&facts), published })
    }

    fn compare(&self, other: &Found, order: Order) -> Ordering {
        let by_name = compare(self.name.as_bytes(), other.name.as_bytes());
        match order {
            Order::Name => by_name,
            Order::Published => self.published.cmp(&other.published).then(by_name),
        }
    }
}

/// Returns the published files in a directory.
fn found_in(directory: &Path, order: Order) -> Result<Vec<Found>> {
    let all = names(directory)?.into_iter();
    let mut found: Vec<Found> = all.filter_map(|name| Found::of(directory, name)).collect();
    found.sort_unstable_by(|one, other| one.compare(other, order));
    Ok(found)
}

/// Returns the names of the published files in a directory.
pub(super) fn published(directory: &Path, order: Order) -> Result<Vec<OsString>> {
    Ok(found_in(directory, order)?.into_iter().map(|found| found.name).collect())
}

/// A reader that receives each file once, and receives a file again if it is published again under the same name.
///
/// The reader remembers the files that were handed out, so it leaves out none, in whatever order files come.
#[derive(Debug)]
pub struct Arrivals {
    shared: Arc<Shared>,
    order: Order,
    /// The files of the directory that were handed out.
    seen: HashMap<OsString, Identity>,
    /// The files to be handed out next.
    ready: VecDeque<Found>,
    alarm: Option<Alarm>,
    /// The modification time of the directory at the last listing, and the time of that listing.
    listed: Option<(SystemTime, Instant)>,
}

impl Arrivals {
    pub(super) fn new(shared: Arc<Shared>, order: Order, after: Option<&OsStr>) -> Result<Self> {
        let (seen, ready) = (HashMap::new(), VecDeque::new());
        let mut arrivals = Arrivals { shared, order, seen, ready, alarm: None, listed: None };
        if let Some(after) = after {
            arrivals.pass(after)?;
        }
        Ok(arrivals)
    }

    /// Skips the files up to the one named `after`. With the order by name, that file may have been removed.
    fn pass(&mut self, after: &OsStr) -> Result<()> {
        let directory = self.shared.directory.path();
        let last = match Found::of(directory, after.to_owned()) {
            Some(last) => last,
            None if self.order == Order::Name => {
                let identity = Identity { inode: 0, modified: (0, 0) };
                Found { name: after.to_owned(), identity, published: (0, 0) }
            }
            None => {
                let path = directory.join(after);
                let message = "it is not there: nobody knows which files were published after it";
                return Err(Error::mismatch(message).in_file(&path));
            }
        };
        self.list()?;
        let n_before = self.ready.iter().take_while(|found| found.compare(&last, self.order).is_le()).count();
        self.seen.extend(self.ready.drain(..n_before).map(|found| (found.name, found.identity)));
        Ok(())
    }

    /// Returns the next file, or the end. The error is `StreamTimeout` if the patience ends, and `Stream` if the last producer
    /// has died. The call may be repeated.
    pub fn next(&mut self, patience: &mut Patience<'_>) -> Result<Next> {
        let shared = Arc::clone(&self.shared);
        let mut alarm = self.alarm.take();
        let outcome = wait(&shared.watch, &mut alarm, patience, shared.directory.path(), || self.look());
        self.alarm = alarm;
        let is_over = matches!(outcome, Ok(Outcome::Ended(_)) | Err(Error::Stream(_)));
        if is_over {
            // The files that exist now are all. This forces a listing that was skipped because of the clocks.
            self.listed = None;
        }
        match outcome {
            Ok(Outcome::There((name, file))) => Ok(Next::File(name, file)),
            Ok(Outcome::Ended(end)) => Ok(self.look()?.map_or(Next::End(end), |(name, file)| Next::File(name, file))),
            Err(error) if is_over => self.look()?.map(|(name, file)| Next::File(name, file)).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Returns the next file, if there is one.
    fn look(&mut self) -> Result<Option<(OsString, File)>> {
        if self.ready.is_empty() {
            self.list()?;
        }
        while let Some(found) = self.ready.pop_front() {
            let path = self.shared.directory.path().join(&found.name);
            // A file that has been removed in the meantime is left out.
            if let Some(file) = open_published(&path)? {
                let facts = file.metadata().map_err(|error| Error::io(&path, error))?;
                self.seen.insert(found.name.clone(), Identity::of(&facts));
                return Ok(Some((found.name, file)));
            }
        }
        Ok(None)
    }

    /// Lists the directory, unless it cannot have changed.
    fn list(&mut self) -> Result<()> {
        let directory = self.shared.directory.path();
        let changed = directory.metadata().and_then(|facts| facts.modified());
        let changed = changed.map_err(|error| Error::io(directory, error))?;
        if let Some((before, at)) = self.listed {
            let is_settled = changed.elapsed().is_ok_and(|ago| ago > STEP);
            if changed == before && is_settled && at.elapsed() < LOOK {
                return Ok(());
            }
        }
        let now = Instant::now();
        let all = found_in(directory, self.order)?;
        // A name that has gone may come again, so it is not remembered.
        let mut seen = HashMap::with_capacity(all.len());
        let mut ready = VecDeque::new();
        for found in all {
            match self.seen.remove_entry(&found.name) {
                Some((name, identity)) => {
                    if identity != found.identity {
                        ready.push_back(found);
                    }
                    seen.insert(name, identity);
                }
                None => ready.push_back(found),
            }
        }
        (self.seen, self.ready, self.listed) = (seen, ready, Some((changed, now)));
        Ok(())
    }
}
