//! Reading of a file while a simulation writes it.
//!
//! There is no watching thread. One of the workers that wait for a frame checks the file (`look`), and the others wait
//! for its result. A check finds the frames that were completed since the previous check (`growing`), and tests the end
//! conditions (`ending`). Between two checks, the worker sleeps until the system reports a change or a time has passed
//! (`alarm`). The source returns only complete frames, and a returned frame never changes.

mod alarm;
mod as_source;
mod ending;
mod growing;
mod look;
mod looking;
#[cfg(unix)]
mod process;
#[cfg(not(unix))]
#[path = "follow/no_process.rs"]
mod process;
mod reader;
mod settings;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use super::bytes::FileBytes;
use super::format::Format;
use super::frame_index::{FrameIndex, Keep};
use super::lookout::{self, Lookout};
use crate::error::{Error, Result};
use growing::{Behind, Growing};
use look::{Look, await_file};

pub use ending::Ending;
pub use settings::Settings;

/// A file that is followed.
pub struct Follow {
    path: PathBuf,
    growing: Growing,
    keep: Keep,
    /// How much of the file counts: complete frames.
    length: Arc<AtomicU64>,
    lookout: Lookout<Known, Look>,
}

/// Known state of the frames.
#[derive(Debug, Default)]
struct Known {
    index: FrameIndex,
    /// Frames that were known from a run before.
    n_kept: usize,
    is_ended: bool,
    /// Why no more frames will come though the end has not.
    failure: Option<Error>,
}

impl lookout::Known for Known {
    fn n_frames(&self) -> u64 {
        self.index.len() as u64
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}

impl Follow {
    /// Follows the file at `path`, which need not be there yet: waits until its first frame is complete. `keep_waiting`
    /// is called every few milliseconds.
    pub fn open(path: &Path, settings: &Settings, keep_waiting: &mut dyn FnMut() -> bool) -> Result<Self> {
        settings.ending.check(path)?;
        let length = Arc::new(AtomicU64::new(0));
        let (growing, look) = await_file(path, settings, &length, keep_waiting)?;
        let mut index = kept_index(path, &growing, settings.keep).unwrap_or_default();
        index.truncate(settings.ending.n_frames.map_or(usize::MAX, |wanted| wanted as usize));
        index.end = index.end.max(growing.start());
        length.store(index.end, Ordering::Release);
        let known = Known { n_kept: index.len(), index, ..Known::default() };
        Ok(Follow { path: path.to_owned(), growing, keep: settings.keep, length, lookout: Lookout::new(known, look) })
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
        self.lookout.known()
    }

    /// Changes the state and wakes the waiting workers.
    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known();
        change(&mut known);
        self.length.store(known.index.end, Ordering::Release);
        drop(known);
        self.lookout.notify();
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
    let found = |at: u64| match growing.behind(0, at, whole.len()).ok()? {
        Behind::Frame(location, end) => Some((location, end)),
        _ => None,
    };
    let index = is_same.then(|| FrameIndex::load(&whole, keep)).flatten()?;
    (index.end == whole.len() || index.agrees(found)).then_some(index)
}
