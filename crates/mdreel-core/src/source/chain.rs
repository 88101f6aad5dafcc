//! A chain: several trajectories of the same atoms read as one.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::source::{AtomSelection, LocatedFrames, Reader, Source};
use crate::span::Recorder;

/// Several sources, one after another; frames are numbered on, times stay as each segment says. For blocks of
/// bytes the segments form one virtual file, laid one behind the other.
pub struct ChainSource {
    segments: Vec<Segment>,
    /// The number of the first frame of each segment, and behind them the number of all frames.
    first_frames: OnceLock<Vec<u64>>,
}

struct Segment {
    source: Arc<dyn Source>,
    path: PathBuf,
    /// Where the segment lies in the virtual file.
    bytes: Range<u64>,
}

impl ChainSource {
    /// Chains sources that have the same number of atoms. The paths name them in errors.
    pub fn new(segments: Vec<(PathBuf, Arc<dyn Source>)>) -> Result<Self> {
        let Some((first_path, first)) = segments.first() else {
            return Err(Error::Mismatch("a chain needs at least one trajectory".into()));
        };
        let n_atoms = first.n_atoms();
        if let Some((path, other)) = segments.iter().find(|(_, source)| source.n_atoms() != n_atoms) {
            return Err(Error::Mismatch(format!(
                "{} has {n_atoms} atoms, {} has {}: a chain needs the same atoms in every trajectory",
                first_path.display(),
                path.display(),
                other.n_atoms()
            )));
        }
        let mut end = 0;
        let segments = segments
            .into_iter()
            .map(|(path, source)| {
                let ranges = source.unlocated_bytes().unwrap_or_default();
                let length = ranges.iter().map(|range| range.end).fold(source.n_bytes(), u64::max);
                let start = end;
                end += length;
                Segment { source, path, bytes: start..end }
            })
            .collect();
        Ok(ChainSource { segments, first_frames: OnceLock::new() })
    }

    fn first_frames(&self) -> Result<&[u64]> {
        if let Some(firsts) = self.first_frames.get() {
            return Ok(firsts);
        }
        let mut firsts = vec![0];
        for segment in &self.segments {
            firsts.push(firsts[firsts.len() - 1] + segment.source.n_frames()?);
        }
        Ok(self.first_frames.get_or_init(|| firsts))
    }

    /// The parts of `frames` that lie within one segment each, in order.
    fn cut_frames(&self, frames: &FrameSet) -> Result<Vec<Piece>> {
        let firsts = self.first_frames()?;
        let n_frames = firsts[firsts.len() - 1];
        if let Some(frame) = frames.last().filter(|&frame| frame >= n_frames) {
            return Err(Error::FrameIndex { path: self.segments[0].path.clone(), frame, n_frames });
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < frames.len() {
            let segment = firsts.partition_point(|&first| first <= frames.get(at)) - 1;
            let within = firsts[segment]..firsts[segment + 1];
            let end = match frames {
                FrameSet::Range { start, step, count } => ((within.end - start).div_ceil(*step)).min(*count),
                FrameSet::List(list) => {
                    let run = list[at as usize..].iter().take_while(|frame| within.contains(frame)).count();
                    at + run as u64
                }
            };
            let local = match frames.slice(at..end) {
                FrameSet::Range { start, step, count } => FrameSet::Range { start: start - within.start, step, count },
                FrameSet::List(list) => FrameSet::List(list.iter().map(|frame| frame - within.start).collect()),
            };
            pieces.push(Piece { segment, extent: Extent::Frames(local), first_frame: Some(within.start) });
            at = end;
        }
        Ok(pieces)
    }

    /// The parts of a range of the virtual file that lie within one segment each.
    fn cut_bytes(&self, range: &Range<u64>) -> Vec<Piece> {
        let overlap = |segment: &Segment| {
            range.start.max(segment.bytes.start) - segment.bytes.start
                ..range.end.min(segment.bytes.end).max(segment.bytes.start) - segment.bytes.start
        };
        let pieces = self.segments.iter().enumerate().map(|(i, segment)| (i, overlap(segment)));
        pieces
            .filter(|(_, bytes)| bytes.start < bytes.end)
            .map(|(segment, bytes)| Piece { segment, extent: Extent::Bytes(bytes), first_frame: None })
            .collect()
    }
}

/// The part of a block that lies within one segment, in the segment's own numbers.
struct Piece {
    segment: usize,
    extent: Extent,
    /// The number of the segment's first frame; `None` where frames are counted from the block's beginning.
    first_frame: Option<u64>,
}

impl Source for ChainSource {
    fn n_atoms(&self) -> usize {
        self.segments[0].source.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.segments.iter().map(|segment| segment.source.n_frames()).sum()
    }

    fn times(&self) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for segment in &self.segments {
            times.append(&mut segment.source.times()?);
        }
        Ok(times)
    }

    fn n_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.source.n_bytes()).sum()
    }

    fn check_end(&self) -> Result<()> {
        self.segments.iter().try_for_each(|segment| segment.source.check_end())
    }

    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        let mut all = Vec::new();
        for segment in &self.segments {
            let base = segment.bytes.start;
            all.extend(segment.source.unlocated_bytes()?.iter().map(|range| base + range.start..base + range.end));
        }
        Some(all)
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        let mut of_segments: Vec<Vec<LocatedFrames>> = self.segments.iter().map(|_| Vec::new()).collect();
        for part in parts {
            let Some(first) = part.first else { continue };
            let mut rest = part.frames.as_slice();
            let mut first = Some(first);
            for (segment, parts) in self.segments.iter().zip(&mut of_segments) {
                let base = segment.bytes.start;
                let n = rest.partition_point(|frame| frame.offset < segment.bytes.end);
                let (own, others) = rest.split_at(n);
                rest = others;
                if let Some(start) = own.first() {
                    // A block that goes on in the next segment has read this one to its end.
                    let end = if others.is_empty() { part.end } else { segment.bytes.end };
                    let mut frames = own.to_vec();
                    frames.iter_mut().for_each(|frame| frame.offset -= base);
                    let first = first.take().unwrap_or(start.offset);
                    parts.push(LocatedFrames { first: Some(first - base), end: end.saturating_sub(base), frames });
                }
            }
        }
        for (segment, parts) in self.segments.iter().zip(of_segments) {
            if !segment.source.locate(parts)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(ChainReader {
            chain: self,
            atoms,
            pieces: Vec::new().into_iter(),
            current: None,
            open: None,
            n_read: 0,
            n_before: 0,
            located: LocatedFrames::default(),
        }))
    }
}

struct ChainReader<'a> {
    chain: &'a ChainSource,
    atoms: &'a AtomSelection,
    pieces: std::vec::IntoIter<Piece>,
    current: Option<Piece>,
    /// The reader of one segment, kept for the next block.
    open: Option<(usize, Box<dyn Reader + 'a>)>,
    /// Frames of the block read so far.
    n_read: u64,
    /// Frames of the block read before the current piece.
    n_before: u64,
    located: LocatedFrames,
}

impl ChainReader<'_> {
    /// Notes what the piece just ended has located, in virtual bytes. Fails when it left bytes of its segment
    /// unread though the block goes on in the next one.
    fn note_located(&mut self) -> Result<()> {
        let Some(Piece { segment, extent: Extent::Bytes(_), .. }) = &self.current else { return Ok(()) };
        let Some((_, reader)) = &mut self.open else { return Ok(()) };
        let mut part = reader.located();
        let Segment { path, bytes, .. } = &self.chain.segments[*segment];
        let goes_on = !self.pieces.as_slice().is_empty();
        if part.first.is_some() && goes_on && part.end != bytes.end - bytes.start {
            let message = format!("the last frame ends here, but the file goes on to byte {}", bytes.end - bytes.start);
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
        batch.clear();
        loop {
            if let (Some(piece), Some((_, reader))) = (&self.current, &mut self.open) {
                reader.read(batch, recorder)?;
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
                let segment = &self.chain.segments[piece.segment];
                self.open = Some((piece.segment, segment.source.reader(self.atoms)?));
            }
            if let Some((_, reader)) = &mut self.open {
                reader.start(&piece.extent)?;
            }
            self.n_before = self.n_read;
            self.current = Some(piece);
        }
    }

    fn located(&mut self) -> LocatedFrames {
        std::mem::take(&mut self.located)
    }
}

#[cfg(test)]
mod tests;
