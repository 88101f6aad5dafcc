//! Chain reader of one worker.

use super::ChainSource;
use super::piece::Piece;
use crate::block::Extent;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::source::rows::NextRows;
use crate::source::{AtomSelection, LocatedFrames, Reader};
use crate::span::{Recorder, SpanKind};

impl ChainSource {
    /// Creates a reader of the `wanted` quantities of the selected atoms.
    pub(super) fn chain_reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Box<dyn Reader + 'a> {
        Box::new(ChainReader {
            chain: self,
            atoms,
            wanted,
            pieces: Vec::new().into_iter(),
            current: None,
            open: None,
            n_read: 0,
            n_before: 0,
            located: LocatedFrames::default(),
        })
    }
}

/// A reader that reads the segments one after another.
struct ChainReader<'a> {
    chain: &'a ChainSource,
    atoms: &'a AtomSelection,
    wanted: Quantities,
    pieces: std::vec::IntoIter<Piece>,
    current: Option<Piece>,
    /// The segment that is open and its reader, kept for the next block.
    open: Option<(usize, Box<dyn Reader + 'a>)>,
    /// Number of frames of the block read so far.
    n_read: u64,
    /// Number of frames of the block before the current piece.
    n_before: u64,
    located: LocatedFrames,
}

impl ChainReader<'_> {
    /// Records which frames the finished piece has located, in bytes of the virtual file. Returns an error if bytes of
    /// its segment are unread although the block continues in the next segment.
    fn note_located(&mut self) -> Result<()> {
        let Some(Piece { segment, extent: Extent::Bytes(_), .. }) = &self.current else { return Ok(()) };
        let Some((_, reader)) = &mut self.open else { return Ok(()) };
        let mut part = reader.located();
        let bytes = self.chain.bytes(*segment);
        let goes_on = !self.pieces.as_slice().is_empty();
        if part.first.is_some() && goes_on && part.end != bytes.end - bytes.start {
            let message = format!("the last frame ends here, but the file goes on to byte {}", bytes.end - bytes.start);
            let path = &self.chain.segments.get(*segment).path;
            return Err(Error::format(path, None, Some(part.end), message));
        }
        if let Some(first) = part.first {
            self.located.first.get_or_insert(bytes.start + first);
            self.located.end = bytes.start + part.end;
            part.frames.iter_mut().for_each(|frame| frame.offset += bytes.start);
            self.located.frames.append(&mut part.frames);
        }
        Ok(())
    }

    /// Reads the next frames. `read` is called with the reader of the current segment.
    fn read_next(
        &mut self,
        batch: &mut FrameBatch,
        recorder: &mut Recorder,
        mut read: impl FnMut(&mut dyn Reader, &mut FrameBatch, &mut Recorder) -> Result<()>,
    ) -> Result<()> {
        batch.clear();
        loop {
            if let (Some(piece), Some((_, reader))) = (&self.current, &mut self.open) {
                read(&mut **reader, batch, recorder)?;
                if !batch.is_empty() {
                    batch.renumber(piece.first_frame.unwrap_or(self.n_before));
                    self.n_read += batch.len() as u64;
                    return Ok(());
                }
                self.note_located()?;
            }
            let Some(piece) = self.pieces.next() else {
                self.current = None;
                return Ok(());
            };
            if self.open.as_ref().is_none_or(|(segment, _)| *segment != piece.segment) {
                let start_ns = recorder.now();
                let segment = self.chain.segments.get(piece.segment);
                self.open = Some((piece.segment, segment.source.reader(self.atoms, self.wanted)?));
                recorder.record(SpanKind::Open, start_ns, 0, 0);
            }
            if let Some((_, reader)) = &mut self.open {
                let start_ns = recorder.now();
                reader.start(&piece.extent)?;
                recorder.record(SpanKind::Read, start_ns, 0, 0);
            }
            self.n_before = self.n_read;
            self.current = Some(piece);
        }
    }
}

impl Reader for ChainReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let pieces = match extent {
            Extent::Frames(frames) => self.chain.cut_frames(frames)?,
            Extent::Bytes(range) => self.chain.cut_bytes(range),
        };
        self.pieces = pieces.into_iter();
        self.current = None;
        self.n_read = 0;
        self.located = LocatedFrames::default();
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, recorder, |reader, batch, recorder| reader.read(batch, recorder))
    }

    fn read_rows(&mut self, batch: &mut FrameBatch, rows: &mut NextRows<'_>, recorder: &mut Recorder) -> Result<()> {
        self.read_next(batch, recorder, |reader, batch, recorder| reader.read_rows(batch, rows, recorder))
    }

    fn located(&mut self) -> LocatedFrames {
        std::mem::take(&mut self.located)
    }
}
