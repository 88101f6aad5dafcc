//! Deferred opening: a file that another process has opened, and that this process opens when it reads the first frame.
//!
//! If each of N workers opened a whole trajectory of F files, the files would be opened N x F times. Instead, the
//! process that has opened the trajectory sends an [`Outline`] of each file. It contains what the source knows without
//! reading.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::bytes::Stamp;
use super::capabilities::{ByteBlocks, Capabilities, EndCheck, FrameCopies, FrameOffsets, SharedPlaces};
use super::chain::SegmentProperties;
use super::format::Format;
use super::frame_index::FrameIndex;
use super::places::Places;
use super::{AtomSelection, LocatedFrames, Reader, Source, SourceExt, StoredFrames};
use crate::error::{Error, Result};
use crate::frame::Quantities;

/// The description of a file by its source, available without reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outline {
    /// The identity of the file.
    pub(crate) stamp: Stamp,
    pub(crate) content: Content,
}

/// The content found in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub format: Format,
    n_atoms: usize,
    n_bytes: u64,
    /// Number of frames, if it is known without locating them.
    n_frames: Option<u64>,
    precision: Option<f32>,
    preferred_step: u64,
    quantities: Quantities,
    has_offsets: bool,
    has_byte_blocks: bool,
    has_end_check: bool,
    is_remote: bool,
}

impl Content {
    /// Returns whether the frames must be located to count them.
    pub(crate) fn needs_index(&self) -> bool {
        self.n_frames.is_none()
    }

    /// Returns the properties of the file as a segment of a chain. `is_whole` states whether all of its frames are
    /// located, and nothing follows the last one.
    pub(crate) fn as_segment(&self, is_whole: bool) -> SegmentProperties {
        let Content { n_atoms, n_bytes, is_remote, precision, preferred_step, quantities, .. } = *self;
        SegmentProperties { n_atoms, n_bytes, is_remote, precision, preferred_step, quantities, is_whole }
    }
}

impl Outline {
    /// Describes `source`. Returns `None` if it is not a file that other processes can open.
    pub(crate) fn of(source: &dyn Source, format: &str) -> Result<Option<Self>> {
        let capabilities = source.capabilities();
        let Some(file) = capabilities.file.filter(|_| capabilities.growth.is_none()) else { return Ok(None) };
        let Ok(format) = Format::from_name(format) else { return Ok(None) };
        let has_byte_blocks = capabilities.byte_blocks.is_some();
        let content = Content {
            format,
            n_atoms: source.n_atoms(),
            n_bytes: source.n_bytes(),
            n_frames: if has_byte_blocks { None } else { Some(source.n_frames()?) },
            precision: capabilities.precision,
            preferred_step: capabilities.preferred_step,
            quantities: capabilities.quantities,
            has_offsets: capabilities.frame_offsets.is_some(),
            has_byte_blocks,
            has_end_check: capabilities.end_check.is_some(),
            is_remote: capabilities.n_fetched.is_some(),
        };
        Ok(Some(Outline { stamp: file.stamp(), content }))
    }
}

/// A file that is opened later, with or without the frames after damage.
pub(crate) trait OpenLater: Send + Sync {
    /// Returns the description of the file.
    fn outline(&self) -> &Outline;

    /// Opens the file. All sources of the file share one open file.
    fn open(&self, past_damage: bool) -> Result<Arc<dyn Source>>;
}

/// A file that ends with a complete frame, and its part of the frame index of several files.
pub(crate) struct WholeFile {
    /// The index; `None` if the frames of this file need not be located.
    pub index: Option<Arc<FrameIndex>>,
    pub frames: Range<usize>,
    pub bytes: Range<u64>,
}

impl WholeFile {
    fn places(&self) -> Option<Places> {
        let index = self.index.as_ref()?.part(self.frames.clone(), self.bytes.clone());
        Some(Places::located_whole(index.end, index))
    }
}

/// A source whose file is opened when it is first needed.
pub struct Deferred {
    file: Arc<dyn OpenLater>,
    past_damage: bool,
    /// Facts about the frames that were found without opening the file here; `None` once the file is open.
    places: Mutex<Option<Places>>,
    /// Facts about a whole file. `places` are created from them when needed.
    whole: Option<WholeFile>,
    /// The number of located frames, once known.
    n_located: OnceLock<u64>,
    source: OnceLock<Arc<dyn Source>>,
}

impl Deferred {
    pub(crate) fn new(file: Arc<dyn OpenLater>, past_damage: bool) -> Self {
        let (places, n_located, source) = (Mutex::default(), OnceLock::new(), OnceLock::new());
        Deferred { file, past_damage, places, whole: None, n_located, source }
    }

    /// Creates a source whose frames are known before the file is opened.
    pub(crate) fn known(file: Arc<dyn OpenLater>, whole: WholeFile) -> Self {
        let n_frames = whole.index.as_ref().map(|_| whole.frames.len() as u64);
        let n_located = n_frames.map_or_else(OnceLock::new, OnceLock::from);
        Deferred { whole: Some(whole), n_located, ..Deferred::new(file, false) }
    }

    /// Returns a source of the same file that also finds the frames after damage.
    #[must_use]
    pub(crate) fn past_damage(&self) -> Self {
        Deferred::new(Arc::clone(&self.file), true)
    }

    fn content(&self) -> &Content {
        &self.file.outline().content
    }

    fn places_now(&self) -> MutexGuard<'_, Option<Places>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.is_none() && self.source.get().is_none() {
            *places = self.whole.as_ref().and_then(WholeFile::places);
        }
        places
    }

    /// Returns the source. Opens the file if it is not open yet, and checks it against the known facts.
    pub(crate) fn opened(&self) -> Result<&dyn Source> {
        let mut places = self.places_now();
        if let Some(source) = self.source.get() {
            return Ok(&**source);
        }
        let source = self.file.open(self.past_damage)?;
        source.take_places(&mut places.take().into_iter())?;
        Ok(&**self.source.get_or_init(|| source))
    }
}

/// Returns an error if the content found in a file differs from its description.
pub(crate) fn check_content(path: &Path, told: &Content, found: &Content) -> Result<()> {
    if told == found {
        return Ok(());
    }
    let show = |content: &Content| {
        let n_frames = content.n_frames.map_or_else(String::new, |n| format!(" of {n} frames"));
        format!("a {} trajectory{n_frames} of {} atoms", content.format.name(), content.n_atoms)
    };
    let message =
        format!("the file has changed since the trajectory was opened: it was {}, now {}", show(told), show(found));
    Err(Error::format(path, None, None, message))
}

impl Source for Deferred {
    fn n_atoms(&self) -> usize {
        self.content().n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        match self.content().n_frames.as_ref().or_else(|| self.n_located.get()) {
            Some(&n_frames) => Ok(n_frames),
            None => self.opened()?.n_frames(),
        }
    }

    fn times(&self) -> Result<Vec<f64>> {
        let known = self.places_now().as_ref().and_then(Places::times);
        known.map_or_else(|| self.opened()?.times(), Ok)
    }

    fn n_bytes(&self) -> u64 {
        self.content().n_bytes
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let content = self.content();
        let inner = self.source.get().map_or(Capabilities::NONE, |source| source.capabilities());
        Capabilities {
            segments: None,
            frame_offsets: content.has_offsets.then_some(self as _),
            byte_blocks: content.has_byte_blocks.then_some(self as _),
            shared_places: Some(self),
            frame_copies: Some(self),
            growth: None,
            end_check: content.has_end_check.then_some(self as _),
            on_error: inner.on_error,
            file: inner.file,
            n_fetched: inner.n_fetched.or_else(|| content.is_remote.then_some(0)),
            precision: content.precision,
            preferred_step: content.preferred_step,
            quantities: content.quantities,
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        self.opened()?.reader(atoms, wanted)
    }
}

impl FrameOffsets for Deferred {
    fn frame_offset(&self, frame: u64) -> Result<u64> {
        Ok(self.opened()?.frame_offset(frame)?.unwrap_or_default())
    }
}

impl ByteBlocks for Deferred {
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        match self.source.get() {
            Some(source) => source.unlocated_bytes(),
            None if self.n_located.get().is_some() => None,
            None => {
                let whole = 0..self.file.outline().stamp.len;
                Some([whole].into())
            }
        }
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        let mut places = self.places_now();
        if let Some(source) = self.source.get() {
            return source.locate(parts);
        }
        let n_bytes = self.file.outline().stamp.len;
        let Some(index) = FrameIndex::joined(parts, n_bytes) else { return Ok(false) };
        self.n_located.get_or_init(|| index.len() as u64);
        *places = Some(Places::located_whole(n_bytes, index));
        Ok(true)
    }
}

impl SharedPlaces for Deferred {
    fn places(&self) -> Vec<Places> {
        match self.source.get() {
            Some(source) => source.places(),
            None => vec![self.places_now().clone().unwrap_or_else(|| Places::of_bytes(self.file.outline().stamp.len))],
        }
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        if let Some(source) = self.source.get() {
            return source.take_places(places);
        }
        let Some(known) = places.next() else { return Ok(()) };
        if let Some(n_frames) = known.n_frames()? {
            self.n_located.get_or_init(|| n_frames);
        }
        *self.places_now() = Some(known);
        Ok(())
    }
}

impl FrameCopies for Deferred {
    fn stored_format(&self) -> Option<&'static str> {
        self.opened().ok()?.stored_format()
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        self.opened()?.stored_frames(frames)
    }
}

impl EndCheck for Deferred {
    fn check_end(&self) -> Result<()> {
        if self.whole.is_some() || self.places_now().as_ref().is_some_and(Places::end_whole) {
            return Ok(());
        }
        self.opened()?.check_end()
    }
}
