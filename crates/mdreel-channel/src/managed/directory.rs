//! A managed directory, as its producers and its readers have it open.

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

/// How long a producer that shares the directory waits for one that is just entering it, and has it alone meanwhile.
const ENTRANCE: Duration = Duration::from_secs(2);

/// A directory in which a file is seen under its name when it is whole, and never before.
#[derive(Debug, Clone)]
pub struct ManagedDirectory(Arc<Shared>);

impl ManagedDirectory {
    /// Opens a directory for a producer; it is made if it is not there. What killed writers have left is removed, unless other
    /// producers live. `Stream` if one lives that does not share.
    pub fn create(path: &Path, settings: Settings) -> Result<Self> {
        // A program may go elsewhere before it publishes.
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
            // Behind the lock: who finds it lets this producer live.
            State::Open.write(&directory, settings.is_synced)?;
            if settings.is_shared {
                locks.take_shared(PRODUCER)?;
            }
        }
        let (published, is_ended) = (Mutex::new(published), AtomicBool::new(false));
        let producing = Producing { settings, locks, published, is_ended };
        Ok(ManagedDirectory(Shared::new(directory, Some(producing))))
    }

    /// Opens a directory for a reader. It has to be there, but no producer needs to have come.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        Ok(ManagedDirectory(Shared::new(Directory::open(&path)?, None)))
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        self.0.directory.path()
    }

    /// Begins a file. A file of this name stays as it is until this one is published in its place.
    pub fn writer(&self, name: &OsStr) -> Result<Writer> {
        self.0.producing()?;
        check_name(self.path(), name)?;
        Writer::create(Arc::clone(&self.0), name)
    }

    /// The file of this name, as soon as it is there. `StreamTimeout` if patience ends; `Stream` if no more files will come, as the
    /// producers have ended or died.
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

    /// How it stands with the producers.
    pub fn life(&self) -> Result<Life> {
        self.0.watch.look()
    }

    /// The files as they come, those that are there first. Those up to the one that is called `after` are left out.
    pub fn arrivals(&self, order: Order, after: Option<&OsStr>) -> Result<Arrivals> {
        Arrivals::new(Arc::clone(&self.0), order, after)
    }

    /// The names of the files that are there.
    pub fn names(&self, order: Order) -> Result<Vec<OsString>> {
        arrivals::published(self.path(), order)
    }

    /// Removes a published file; whether it was there. Who has opened it keeps it.
    pub fn remove(&self, name: &OsStr) -> Result<bool> {
        check_name(self.path(), name)?;
        let path = self.path().join(name);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Says that this producer publishes nothing more. Of producers that share the directory, the last one that is finished ends it, and
    /// the first that has failed or was stopped. Returns whether it has ended with this.
    ///
    /// # Errors
    /// Where the end cannot be written, as on a full disk, this producer has not ended: readers go on waiting, and it can be said again.
    pub fn end(&self, end: &End) -> Result<bool> {
        let producing = self.0.producing()?;
        // Nothing is published from here on, not by another thread either.
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
            // Of several that come here together, those that find another one here leave it to that.
            locks.take(PRODUCER)?
        } else {
            true
        };
        let mut is_written = false;
        // What another producer has said of its failure stays.
        if is_last && !matches!(State::read(directory)?, Some(State::Ended(_))) {
            State::Ended(end.clone()).write(directory, producing.settings.is_synced)?;
            is_written = true;
        }
        locks.give_back(PRODUCER)?;
        Ok(is_written)
    }
}

/// Takes the lock of producers: alone, or together with others. Says whether nobody else has it.
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
