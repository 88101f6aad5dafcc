//! Output files of conversions.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::outline::outline_of;
use crate::block::FrameSet;
use crate::error::{Error, Result};
use crate::frame::Quantity;
use crate::source::damage::OnError;
use crate::source::{AtomSelection, Source, SourceExt, StoredFrames};
use crate::writer::format::{OutputFormat, Settings};
use crate::writer::{Encoder, FileWriter, Outline};

/// A file to write.
#[derive(Clone)]
pub struct Output {
    pub(super) path: PathBuf,
    format: &'static OutputFormat,
    settings: Settings,
}

impl Output {
    /// Creates an output file. The extension of `path` selects the format.
    pub fn new(path: &Path, settings: Settings) -> Result<Self> {
        Ok(Output { path: path.to_owned(), format: OutputFormat::of(path)?, settings })
    }

    /// Returns the outline of `frames` of `source` for this format.
    pub(super) fn outline(&self, source: &dyn Source, atoms: &AtomSelection, frames: &FrameSet) -> Result<Outline> {
        let quantities = source.quantities().both(self.format.quantities).with(Quantity::Positions, true);
        outline_of(source, atoms, frames, quantities, self.format.alike)
    }

    /// Creates the file. The default precision is that of `source`.
    pub(super) fn begin(&self, source: &dyn Source, outline: &Outline) -> Result<FileWriter<Arc<dyn Encoder>>> {
        let mut settings = self.settings;
        if self.format.rounds {
            settings.precision = settings.precision.or(source.precision());
        }
        FileWriter::create(&self.path, self.format.encoder(outline, &settings)?)
    }

    /// Returns whether the bytes of undamaged frames can be copied.
    pub(super) fn copies(&self, source: &dyn Source, atoms: &AtomSelection) -> bool {
        let is_plain = atoms.len() == source.n_atoms() && self.settings.precision.is_none();
        is_plain && source.stored_format() == Some(self.format.name)
    }

    /// Returns the bytes of `frames` if copying them is sufficient.
    pub(super) fn stored<'a>(
        &self,
        source: &'a dyn Source,
        atoms: &AtomSelection,
        frames: &Range<u64>,
    ) -> Result<Option<Vec<StoredFrames<'a>>>> {
        // If the source tolerates damage, only decoding shows which frames are whole.
        if atoms.len() != source.n_atoms() || self.settings.precision.is_some() || source.on_error() != OnError::Raise {
            return Ok(None);
        }
        let stored = source.stored_frames(frames.clone())?;
        Ok(stored.filter(|parts| parts.iter().all(|part| part.format == self.format.name)))
    }
}

/// Returns an error if fewer or more frames were written than wanted. Without this check, a source that ends early
/// would leave a file that looks complete.
pub(super) fn check_count(n_written: u64, n_wanted: u64) -> Result<()> {
    if n_written == n_wanted {
        return Ok(());
    }
    Err(Error::mismatch(format!("{n_wanted} frames were to be written, but the trajectory gave {n_written}")))
}
