//! Following: a file that is read while a simulation writes it.
//!
//! Nobody watches the file but those who wait for a frame: one of them looks (`look`), the others wait for what it finds.
//! A look takes note of the frames that have become whole since the one before (`growing`), and of whether one of the
//! conditions that end the following is met (`ending`). Between two looks the system wakes us, or time does (`alarm`).
//! Frames are handed out when they are whole, and what was handed out stays as it is.

mod alarm;
mod ending;
mod growing;
mod look;
mod reader;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::bytes::FileBytes;
use super::frame_index::{FrameIndex, Keep};
use super::growth::{Arrival, Growth};
use super::open::Format;
use super::{AtomSelection, Reader, Source};
use crate::error::{Error, Result};
use crate::frame::Quantities;
use growing::Growing;
use look::{Look, await_file};
use reader::FollowReader;

pub use ending::Ending;

/// How a file is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// When it has come to its end.
    pub ending: Ending,
    /// The format, where the content is not to decide.
    pub format: Option<Format>,
    /// How long to wait for the first frame; `None` for as long as it takes.
    pub timeout: Option<Duration>,
    /// Where an index of the frames is kept.
    pub keep: Keep,
    /// Whether the system may be asked to tell of growth, where the file system is local.
    pub may_notify: bool,
}

/// A file that is followed.
pub struct Follow {
    path: PathBuf,
    growing: Growing,
    keep: Keep,
    /// How much of the file counts: whole frames.
    length: Arc<AtomicU64>,
    known: Mutex<Known>,
    changed: Condvar,
    look: Mutex<Look>,
}

/// What is known of the frames.
#[derive(Debug, Default)]
struct Known {
    index: FrameIndex,
    /// Frames that were known from a run before.
    n_kept: usize,
    is_ended: bool,
    /// Why no more frames will come though the end has not.
    failure: Option<Error>,
}

impl Known {
    /// What is to be said to who waits for `frame`; `None` if nothing yet.
    fn answer(&self, frame: u64) -> Option<Result<Arrival>> {
        let arrival = Arrival { n_frames: self.index.len() as u64, is_ended: self.is_ended };
        match &self.failure {
            _ if arrival.settles(frame) => Some(Ok(arrival)),
            Some(error) => Some(Err(error.clone())),
            None => None,
        }
    }
}

impl Follow {
    /// Follows the file at `path`, which need not be there yet: waits until its first frame is whole. `keep_waiting` is
    /// asked every few milliseconds meanwhile.
    pub fn open(path: &Path, settings: &Settings, keep_waiting: &mut dyn FnMut() -> bool) -> Result<Self> {
        settings.ending.check(path)?;
        let length = Arc::new(AtomicU64::new(0));
        let (growing, look) = await_file(path, settings, &length, keep_waiting)?;
        let mut index = kept_index(path, &growing, settings.keep).unwrap_or_default();
        index.truncate(settings.ending.n_frames.map_or(usize::MAX, |wanted| wanted as usize));
        index.end = index.end.max(growing.start());
        length.store(index.end, Ordering::Release);
        let known = Known { n_kept: index.len(), index, ..Known::default() };
        Ok(Follow {
            path: path.to_owned(),
            growing,
            keep: settings.keep,
            length,
            known: Mutex::new(known),
            changed: Condvar::new(),
            look: Mutex::new(look),
        })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.growing.format()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, and wakes who waits for that.
    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known();
        change(&mut known);
        self.length.store(known.index.end, Ordering::Release);
        drop(known);
        self.changed.notify_all();
    }

    /// Takes note that no more frames will come. Those that a later run need not look for again are kept.
    fn end(&self) {
        let known = self.known();
        if self.growing.is_chained() && known.index.len() > known.n_kept {
            // That the index cannot be kept costs time in a later run, and nothing in this one.
            let _ = known.index.save(self.growing.file(), self.keep);
        }
        drop(known);
        self.change(|known| known.is_ended = true);
    }
}

/// The index that is kept of the file, if it belongs to it.
fn kept_index(path: &Path, growing: &Growing, keep: Keep) -> Option<FrameIndex> {
    let whole = FileBytes::open(path, super::bytes::Access::Read).ok()?;
    let is_same = growing.is_chained() && whole.identity() == growing.file().identity();
    is_same.then(|| FrameIndex::load(&whole, keep)).flatten()
}

impl Growth for Follow {
    fn await_frame(&self, frame: u64, at_most: Duration) -> Result<Arrival> {
        let until = Instant::now() + at_most;
        loop {
            let known = self.known();
            if let Some(answer) = known.answer(frame) {
                return answer;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Arrival { n_frames: known.index.len() as u64, is_ended: false });
            }
            match self.look.try_lock() {
                Ok(mut look) => {
                    drop(known);
                    look.look(self, left);
                    drop(look);
                    // Another one has to look from now on, if it waits for a later frame.
                    self.changed.notify_all();
                }
                Err(TryLockError::WouldBlock) => {
                    // Under the lock from the question to the waiting, so that no answer is missed.
                    drop(self.changed.wait_timeout(known, left));
                }
                Err(TryLockError::Poisoned(_)) => {
                    return Err(Error::Worker(format!("{}: who followed it was lost", self.path.display())));
                }
            }
        }
    }
}

impl Source for Follow {
    fn n_atoms(&self) -> usize {
        self.growing.source().n_atoms()
    }

    /// Frames found so far.
    fn n_frames(&self) -> Result<u64> {
        Ok(self.known().index.len() as u64)
    }

    /// Times of the frames found so far.
    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.known().index.frames().map(|frame| frame.time).collect())
    }

    fn n_bytes(&self) -> u64 {
        self.length.load(Ordering::Acquire) - self.growing.start()
    }

    /// Says what is wrong with the end, once it was met.
    fn check_end(&self) -> Result<()> {
        self.known().failure.clone().map_or(Ok(()), Err)
    }

    fn growth(&self) -> Option<&dyn Growth> {
        Some(self)
    }

    fn file(&self) -> Option<&FileBytes> {
        Some(self.growing.file())
    }

    fn precision(&self) -> Option<f32> {
        self.growing.source().precision()
    }

    fn quantities(&self) -> Quantities {
        self.growing.source().quantities()
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(FollowReader::new(self, self.growing.source().reader(atoms, wanted)?)))
    }
}
