//! A managed directory, opened by a producer or a reader.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::arrivals::{self, Arrivals, Order};
use super::life::Life;
use super::names::{LOCK, PRODUCER};
use super::part::{check_name, remove_leftovers};
use super::shared::{Producing, Shared, open_published};
use super::state::State;
use super::waiting::{Outcome, Patience, wait};
use super::writer::Writer;
use crate::directory::Directory;
use crate::end::End;
use crate::lock::Locks;
use mdreel_core::error::{Error, Result};

pub use super::shared::Settings;

/// How long a shared producer waits for another one that is entering and holds the lock exclusively for that moment.
const ENTRANCE: Duration = Duration::from_secs(2);

/// A directory in which a file gets its final name only when it is complete.
#[derive(Debug, Clone)]
pub struct ManagedDirectory(Arc<Shared>);

impl ManagedDirectory {
    /// Opens a directory for a producer, and creates it if it does not exist. Unless other producers are alive, this removes
    /// files that killed writers have left. Returns a `Stream` error if a producer that does not share the directory is alive.
    pub fn create(path: &Path, settings: Settings) -> Result<Self> {
        // The program may change its working directory before it publishes.
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        if settings.keep == Some(0) {
            return Err(Error::mismatch("expected to keep at least 1 published file, got 0").in_file(&path));
        }
        let directory = Directory::create(&path)?;
        let locks = Locks::open(&directory, LOCK, true)?;
        let mut published = VecDeque::new();
        if enter(&locks, &directory, settings.is_shared)? {
            remove_leftovers(&path)?;
            if settings.keep.is_some() {
                published.extend(arrivals::published(&path, Order::Published)?);
            }
            // Written after the lock was taken: a process that reads this state then finds the producer alive.
            State::Open.write(&directory, settings.is_synced)?;
            if settings.is_shared {
                locks.take_shared(PRODUCER)?;
            }
        }
        let (published, is_ended) = (Mutex::new(published), AtomicBool::new(false));
        let producing = Producing { settings, locks, published, is_ended };
        Ok(ManagedDirectory(Shared::new(directory, Some(producing))))
    }

    /// Opens a directory for a reader. It must exist, but no producer needs to have used it yet.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        Ok(ManagedDirectory(Shared::new(Directory::open(&path)?, None)))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.0.directory.path()
    }

    /// Begins a file. An existing file of this name stays until the new one replaces it.
    pub fn writer(&self, name: &OsStr) -> Result<Writer> {
        self.0.producing()?;
        check_name(self.path(), name)?;
        Writer::create(Arc::clone(&self.0), name)
    }

    /// Returns the file of this name as soon as it is published. The error is `StreamTimeout` if the patience ends, and `Stream`
    /// if no more files will come because the producers have ended or died.
    pub fn wait(&self, name: &OsStr, patience: &mut Patience<'_>) -> Result<File> {
        check_name(self.path(), name)?;
        let path = self.path().join(name);
        let idle = || self.0.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        let mut alarm = idle().take();
        let outcome = wait(&self.0.watch, &mut alarm, patience, &path, || open_published(&path));
        *idle() = alarm;
        match outcome? {
            Outcome::There(file) => Ok(file),
            Outcome::Ended(end) => {
                let how = match end {
                    End::Finished => "is finished".to_owned(),
                    End::Stopped => "was stopped".to_owned(),
                    End::Failed(reason) => format!("has failed: {reason}"),
                };
                let message = format!("it was not published, and its producer {how}");
                Err(Error::stream(message).in_file(&path))
            }
        }
    }

    /// Returns the state of the producers.
    pub fn life(&self) -> Result<Life> {
        self.0.watch.look()
    }

    /// Returns the files in the order of their arrival, beginning with those that exist. Files up to the one named `after` are
    /// left out.
    pub fn arrivals(&self, order: Order, after: Option<&OsStr>) -> Result<Arrivals> {
        Arrivals::new(Arc::clone(&self.0), order, after)
    }

    /// Returns the names of the published files.
    pub fn names(&self, order: Order) -> Result<Vec<OsString>> {
        arrivals::published(self.path(), order)
    }

    /// Removes a published file. Returns whether it existed. A process that has opened the file can still read it.
    pub fn remove(&self, name: &OsStr) -> Result<bool> {
        check_name(self.path(), name)?;
        let path = self.path().join(name);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Ends this producer, which publishes nothing more. If producers share the directory, it ends when the last one has
    /// finished, or when the first one has failed or was stopped. Returns whether this call has ended the directory.
    ///
    /// # Errors
    /// If the end cannot be written, for example on a full disk, the producer has not ended. Readers continue to wait, and the
    /// caller can try again.
    pub fn end(&self, end: &End) -> Result<bool> {
        let producing = self.0.producing()?;
        // From here on, no thread of this process publishes anything.
        producing.is_ended.store(true, Ordering::Release);
        let outcome = self.say_end(producing, end);
        if outcome.is_err() {
            producing.is_ended.store(false, Ordering::Release);
        }
        outcome
    }

    fn say_end(&self, producing: &Producing, end: &End) -> Result<bool> {
        let (directory, locks) = (&self.0.directory, &producing.locks);
        let is_last = if producing.settings.is_shared && *end == End::Finished {
            locks.give_back(PRODUCER)?;
            // If several producers end at the same time, those that find another one still holding the lock leave the end record
            // to it.
            locks.take(PRODUCER)?
        } else {
            true
        };
        let mut is_written = false;
        // The end record of another producer that has failed stays.
        if is_last && !matches!(State::read(directory)?, Some(State::Ended(_))) {
            State::Ended(end.clone()).write(directory, producing.settings.is_synced)?;
            is_written = true;
        }
        locks.give_back(PRODUCER)?;
        Ok(is_written)
    }
}

/// Takes the lock of producers, exclusively if possible and otherwise shared. Returns whether it is exclusive.
fn enter(locks: &Locks, directory: &Directory, is_shared: bool) -> Result<bool> {
    let until = Instant::now() + ENTRANCE;
    loop {
        if locks.take(PRODUCER)? {
            return Ok(true);
        }
        if is_shared && locks.take_shared(PRODUCER)? {
            return Ok(false);
        }
        if !is_shared || Instant::now() >= until {
            let message = "another producer is running, and producers share a directory only if all of them are shared";
            return Err(Error::stream(message).in_file(directory.path()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
