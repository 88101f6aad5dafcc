//! Files of consecutive frames, each with a header that contains its length: XTC and TRR.
//!
//! The position of a frame is known only after all frames before it have been found. A [`LocatedFile`] finds the
//! positions once and keeps them as a frame index. It hops from header to header, or uses the positions from readers
//! that went through the file by ranges of bytes.

mod chained_header;
mod resume;
mod scan;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::bytes::FileBytes;
use super::capabilities::{ByteBlocks, Capabilities, EndCheck, FrameCopies, FrameOffsets, SharedPlaces};
use super::fault::Fault;
use super::frame_index::{Claim, FrameIndex, Keep, PATIENCE, Turn};
use super::places::Places;
use super::{LocatedFrames, StoredFrames};
use crate::error::{Error, Result};

pub(crate) use chained_header::ChainedHeader;
pub(crate) use scan::{Gap, Located, check_header, find_frame, header_at, location};

/// An open file of such frames, and the known positions of the frames.
#[derive(Debug)]
pub(crate) struct LocatedFile<H> {
    /// The bytes of the file.
    pub file: Arc<FileBytes>,
    /// The first header.
    pub first: H,
    keep: Keep,
    /// Whether to search for frames after damage.
    past_damage: bool,
    /// Set after the first search for a kept index.
    looked: OnceLock<()>,
    located: OnceLock<Located>,
}

impl<H: ChainedHeader> LocatedFile<H> {
    /// Opens a file. This reads only the first header. The file locates its frames when they are needed, or takes their
    /// positions from an index of the file in `keep`.
    pub(crate) fn open(file: FileBytes, keep: Keep) -> Result<Self> {
        if file.is_empty() {
            let message = format!("expected {} trajectory, the file is empty", H::NAME);
            return Err(Error::format(file.path(), None, Some(0), message));
        }
        let start = file.read_vec(0..file.len().min(H::MAX_LEN as u64))?;
        let first = match H::parse(&start) {
            Ok(Some(first)) => first,
            Ok(None) => {
                let message =
                    format!("the first frame is torn: the file ends after {} bytes, within its header", file.len());
                return Err(Error::format(file.path(), Some(0), Some(file.len()), message));
            }
            Err(fault) => return Err(fault.error(file.path(), Some(0), 0)),
        };
        if let Err(fault) = check_header::<H>(&start, 0, file.len(), first.n_atoms()) {
            return Err(fault.error(file.path(), Some(0), 0));
        }
        Ok(LocatedFile::new(Arc::new(file), first, keep, false))
    }

    fn new(file: Arc<FileBytes>, first: H, keep: Keep, past_damage: bool) -> Self {
        LocatedFile { file, first, keep, past_damage, looked: OnceLock::new(), located: OnceLock::new() }
    }

    /// Returns the same file, which also searches for frames after damage. Each unreadable stretch gets a number among
    /// the frames, and reading it is an error. The positions found this way are not saved for other runs.
    #[must_use]
    pub(crate) fn past_damage(&self) -> Self {
        LocatedFile::new(Arc::clone(&self.file), self.first, self.keep, true)
    }

    /// Returns the number of atoms in each frame.
    pub(crate) fn n_atoms(&self) -> usize {
        self.first.n_atoms()
    }

    /// Returns the header at `offset`, which must be that of a complete frame.
    pub(crate) fn header_at(&self, offset: u64) -> Result<H> {
        let header = header_at(&self.file, offset, self.n_atoms())?;
        header.map_err(|fault| fault.error(self.file.path(), None, offset))
    }

    /// Checks the header of a frame that starts at `offset`.
    pub(crate) fn check_header(&self, bytes: &[u8], offset: u64) -> std::result::Result<H, Fault> {
        check_header(bytes, offset, self.file.len(), self.n_atoms())
    }

    /// Returns the position of the first frame that starts in `range`.
    pub(crate) fn find_frame(&self, range: Range<u64>) -> Result<Option<u64>> {
        match self.guess_frame(&range)? {
            Some(offset) => Ok(Some(offset)),
            None => find_frame::<H>(&self.file, self.n_atoms(), range),
        }
    }

    /// Guesses the first frame that starts in `range`, under the assumption that all frames are as long as the first
    /// one. The guess is accepted if frames of this length start at the guessed position and one length before it,
    /// which is outside the range.
    fn guess_frame(&self, range: &Range<u64>) -> Result<Option<u64>> {
        let len = self.first.frame_len();
        let Some(offset) = range.start.checked_next_multiple_of(len) else { return Ok(None) };
        if !H::MOSTLY_ALIKE || offset == 0 || offset >= range.end.min(self.file.len()) {
            return Ok(None);
        }
        let is_frame =
            |at: u64| Ok(header_at::<H>(&self.file, at, self.n_atoms())?.is_ok_and(|h| h.frame_len() == len));
        Ok((is_frame(offset - len)? && is_frame(offset)?).then_some(offset))
    }

    /// Returns the kept index, if it belongs to this file.
    fn kept(&self) -> Option<FrameIndex> {
        FrameIndex::load(&self.file, self.keep).filter(|index| self.has_frames(index))
    }

    /// Returns whether a kept index belongs to this file. An index that covers the complete file does, because the file
    /// has not changed since the index was made. If the file has grown, a program may have overwritten the earlier
    /// contents, so the index must agree with the headers in the file.
    fn has_frames(&self, index: &FrameIndex) -> bool {
        let found = |at: u64| {
            let header = header_at::<H>(&self.file, at, self.n_atoms()).ok()?.ok()?;
            Some((location(&header, at), at + header.frame_len()))
        };
        index.end == self.file.len() || index.agrees(found)
    }

    /// Returns the positions of the frames, if they are known from this run or a previous one. If the file has grown
    /// since then, this function locates the new frames.
    fn known(&self) -> Option<&Located> {
        self.looked.get_or_init(|| {
            if self.past_damage {
                return;
            }
            let Some(index) = self.kept() else { return };
            // `located` reports a failure when the result is needed.
            let _ = self.make(Some(index));
        });
        self.located.get()
    }

    /// Returns the positions of the frames, and locates the frames if necessary.
    pub(crate) fn located(&self) -> Result<&Located> {
        match self.known() {
            Some(located) => Ok(located),
            None if self.past_damage => {
                let known = self.kept();
                let located = resume::scan_past_damage::<H>(&self.file, self.n_atoms(), known)?;
                Ok(self.located.get_or_init(|| located))
            }
            None => self.make(None),
        }
    }

    /// Returns the range of bytes of a frame.
    pub(crate) fn range(&self, frame: u64) -> Result<Range<u64>> {
        let located = self.located()?;
        if let Ok(i) = located.gaps.binary_search_by_key(&frame, |gap| gap.frame) {
            return Err(located.gaps[i].fault.error(self.file.path(), Some(frame), 0));
        }
        let (path, n_frames) = (self.file.path(), located.index.len() as u64);
        located.index.range(frame as usize).ok_or_else(|| Error::FrameIndex { path: path.to_owned(), frame, n_frames })
    }

    /// Locates the frames after those that `known` covers, or waits while another process locates them.
    fn make(&self, known: Option<FrameIndex>) -> Result<&Located> {
        let covered = known.as_ref().map_or(0, |index| index.end);
        if covered == self.file.len() {
            return Ok(self.located.get_or_init(|| Located { index: known.unwrap_or_default(), ..Located::default() }));
        }
        let believed = |index: &FrameIndex| self.has_frames(index);
        let (known, mut claim) = match Claim::take(&self.file, self.keep, covered, PATIENCE, &believed) {
            Turn::Ours(claim) => (known, Some(claim)),
            Turn::Made(index) => (Some(index), None),
            Turn::Alone => (known, None),
        };
        let covered = known.as_ref().map_or(0, |index| index.end);
        let located = scan::scan::<H>(&self.file, self.n_atoms(), known, || claim.iter_mut().for_each(Claim::beat))?;
        // The claim is released at the end of this function, when all processes can load the index.
        Ok(self.set_located(located, covered))
    }

    /// Stores the positions of the frames. Saves the index if it covers more than the first `covered` bytes.
    fn set_located(&self, located: Located, covered: u64) -> &Located {
        self.located.get_or_init(|| {
            if located.index.end > covered {
                // If saving the index fails, the next run takes more time, but this run is not affected.
                let _ = located.index.save(&self.file, self.keep);
            }
            located
        })
    }

    /// Returns the number of frames.
    pub(crate) fn n_frames(&self) -> Result<u64> {
        Ok(self.located()?.index.len() as u64)
    }

    /// Returns the time of each frame in ps.
    pub(crate) fn times(&self) -> Result<Vec<f64>> {
        Ok(self.located()?.index.frames().map(|frame| frame.time).collect())
    }

    /// Returns the capabilities of a source of this file.
    pub(crate) fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            frame_offsets: Some(self),
            byte_blocks: Some(self),
            shared_places: Some(self),
            frame_copies: Some(self),
            end_check: Some(self),
            ..Capabilities::of_file(&self.file)
        }
    }
}

impl<H: ChainedHeader> FrameOffsets for LocatedFile<H> {
    fn frame_offset(&self, frame: u64) -> Result<u64> {
        self.range(frame).map(|range| range.start)
    }
}

impl<H: ChainedHeader> SharedPlaces for LocatedFile<H> {
    fn places(&self) -> Vec<Places> {
        vec![Places::of(&self.file, self.known())]
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        let Some(known) = places.next() else { return Ok(()) };
        known.check(&self.file)?;
        if let Some(located) = known.located()? {
            self.looked.get_or_init(|| ());
            self.located.get_or_init(|| located);
        }
        Ok(())
    }

    fn keep_index(&self) {
        let Some(located) = self.located.get().filter(|_| !self.past_damage) else { return };
        // If saving the index fails, the next run takes more time, but this run is not affected.
        let _ = located.index.save(&self.file, self.keep);
    }
}

impl<H: ChainedHeader> FrameCopies for LocatedFile<H> {
    fn stored_format(&self) -> Option<&'static str> {
        Some(H::FORMAT)
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        if frames.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let bytes = self.range(frames.start)?.start..self.range(frames.end - 1)?.end;
        let n_frames = frames.end - frames.start;
        Ok(Some(vec![StoredFrames { format: H::FORMAT, file: &self.file, bytes, n_frames }]))
    }
}

impl<H: ChainedHeader> EndCheck for LocatedFile<H> {
    fn check_end(&self) -> Result<()> {
        let located = self.located()?;
        match &located.rest {
            None => Ok(()),
            Some(fault) => {
                let n = located.index.len();
                let message = match self.past_damage {
                    // Not all frames before the fault are complete, and users do not have to restrict the run to these
                    // frames.
                    true => fault.message.clone(),
                    false => format!(
                        "{}; {n} whole frames come before it (to use them, read only these frames)",
                        fault.message
                    ),
                };
                Err(Error::format(self.file.path(), Some(n as u64), Some(fault.byte), message))
            }
        }
    }
}

impl<H: ChainedHeader> ByteBlocks for LocatedFile<H> {
    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        let whole = 0..self.file.len();
        self.known().is_none().then(|| [whole].into())
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        let Some(index) = FrameIndex::joined(parts, self.file.len()) else { return Ok(false) };
        self.set_located(Located { index, ..Located::default() }, 0);
        Ok(true)
    }
}
