//! Files of consecutive frames, each with a header that contains its length: XTC and TRR.
//!
//! Where a frame starts is known when all frames before it were seen. A [`LocatedFile`] finds that out once, by
//! hopping from header to header, or takes it from readers that went through the file by ranges of bytes, and keeps it
//! as a frame index.

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

/// An opened file of such frames, and where they are as far as that is known.
#[derive(Debug)]
pub(crate) struct LocatedFile<H> {
    /// The file.
    pub file: Arc<FileBytes>,
    /// The first header.
    pub first: H,
    keep: Keep,
    /// Whether frames are searched for behind damage.
    past_damage: bool,
    /// Set once it was looked for a kept index.
    looked: OnceLock<()>,
    located: OnceLock<Located>,
}

impl<H: ChainedHeader> LocatedFile<H> {
    /// Opens a file. Only its first header is read; frames are located when they have to be, and not at all when
    /// `keep` has an index of the file.
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

    /// The same file, whose frames are also looked for behind damage. What damage leaves unreadable has a number among
    /// the frames, and reading it is an error. Nothing of that is kept for others.
    #[must_use]
    pub(crate) fn past_damage(&self) -> Self {
        LocatedFile::new(Arc::clone(&self.file), self.first, self.keep, true)
    }

    /// Atoms in each frame.
    pub(crate) fn n_atoms(&self) -> usize {
        self.first.n_atoms()
    }

    /// The header at `offset`, which must be that of a whole frame.
    pub(crate) fn header_at(&self, offset: u64) -> Result<H> {
        let header = header_at(&self.file, offset, self.n_atoms())?;
        header.map_err(|fault| fault.error(self.file.path(), None, offset))
    }

    /// Checks the header of a frame that starts at `offset`.
    pub(crate) fn check_header(&self, bytes: &[u8], offset: u64) -> std::result::Result<H, Fault> {
        check_header(bytes, offset, self.file.len(), self.n_atoms())
    }

    /// The first frame that starts in `range`.
    pub(crate) fn find_frame(&self, range: Range<u64>) -> Result<Option<u64>> {
        match self.guess_frame(&range)? {
            Some(offset) => Ok(Some(offset)),
            None => find_frame::<H>(&self.file, self.n_atoms(), range),
        }
    }

    /// The first frame that starts in `range` if all before it are as long as the first: there is a header, and one
    /// such frame in front of it, which starts before the range.
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

    /// The kept index, if it is believed.
    fn kept(&self) -> Option<FrameIndex> {
        FrameIndex::load(&self.file, self.keep).filter(|index| self.has_frames(index))
    }

    /// Whether a kept index is of this file: one of all of it is, as the file has not changed since it was made. If the
    /// file has grown, what was there before may have been written over.
    fn has_frames(&self, index: &FrameIndex) -> bool {
        let found = |at: u64| {
            let header = header_at::<H>(&self.file, at, self.n_atoms()).ok()?.ok()?;
            Some((location(&header, at), at + header.frame_len()))
        };
        index.end == self.file.len() || index.agrees(found)
    }

    /// Where frames are, if that is known: from this run or from one before. Of a file that has grown since, the new
    /// part is located.
    fn known(&self) -> Option<&Located> {
        self.looked.get_or_init(|| {
            if self.past_damage {
                return;
            }
            let Some(index) = self.kept() else { return };
            // A failure is reported when the result is needed.
            let _ = self.make(Some(index));
        });
        self.located.get()
    }

    /// Where frames are; locates them if need be.
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

    /// The bytes of a frame.
    pub(crate) fn range(&self, frame: u64) -> Result<Range<u64>> {
        let located = self.located()?;
        if let Ok(i) = located.gaps.binary_search_by_key(&frame, |gap| gap.frame) {
            return Err(located.gaps[i].fault.error(self.file.path(), Some(frame), 0));
        }
        let (path, n_frames) = (self.file.path(), located.index.len() as u64);
        located.index.range(frame as usize).ok_or_else(|| Error::FrameIndex { path: path.to_owned(), frame, n_frames })
    }

    /// Locates the frames behind those that `known` covers, or waits while another process does.
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
        // The claim is given back behind this, when the index is there for all.
        Ok(self.set_located(located, covered))
    }

    /// Takes note of where frames are; keeps an index that covers more than the first `covered` bytes.
    fn set_located(&self, located: Located, covered: u64) -> &Located {
        self.located.get_or_init(|| {
            if located.index.end > covered {
                // That the index cannot be kept costs time in the next run, and nothing in this one.
                let _ = located.index.save(&self.file, self.keep);
            }
            located
        })
    }

    /// Number of frames.
    pub(crate) fn n_frames(&self) -> Result<u64> {
        Ok(self.located()?.index.len() as u64)
    }

    /// The time of each frame, ps.
    pub(crate) fn times(&self) -> Result<Vec<f64>> {
        Ok(self.located()?.index.frames().map(|frame| frame.time).collect())
    }

    /// Capabilities of a source of this file.
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
        // That the index cannot be kept costs time in the next run, and nothing in this one.
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
                    // Not all that come before it are whole, and nobody has to ask for less.
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
