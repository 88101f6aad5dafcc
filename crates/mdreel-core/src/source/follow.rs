//! Reading of a file while a simulation writes it.
//!
//! No thread watches the file. One of the workers that wait for a frame checks the file (`look`), and the others wait
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

/// A file that is read while it grows.
pub struct Follow {
    path: PathBuf,
    growing: Growing,
    keep: Keep,
    /// Number of bytes of the file that count: its complete frames.
    length: Arc<AtomicU64>,
    lookout: Lookout<Known, Look>,
}

/// The known frames and the state of the file.
#[derive(Debug, Default)]
struct Known {
    index: FrameIndex,
    /// Number of frames known from an earlier run.
    n_kept: usize,
    is_ended: bool,
    /// The reason why no more frames will come although the end has not been reached.
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
    /// Follows the file at `path`, which need not exist yet, and waits until its first frame is complete. It calls
    /// `keep_waiting` every few milliseconds and returns an error when that returns `false`.
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

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format of the file.
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

    /// Records that no more frames will come. Keeps the frame index for later runs.
    fn end(&self) {
        let known = self.known();
        if self.growing.is_chained() && known.index.len() > known.n_kept {
            // Without a kept index, a later run takes longer. This run is not affected.
            let _ = known.index.save(self.growing.file(), self.keep);
        }
        drop(known);
        self.change(|known| known.is_ended = true);
    }
}

/// Returns the index kept for the file, if it belongs to the file.
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
